"""Names by rules, as Replicator's ``topic.rename.format`` and routers make them: first match wins, else the same name.

A topic that a rule renames is produced at the source of that rule, and nowhere else. At clusters without a rule it
keeps its name, and so does every other topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from offset_sync.config.mirror import NameRule
from offset_sync.config.name_patterns import is_match
from offset_sync.config.stream_names import Affix

_BOUND = "/"  # in no name of a topic, and in no alias


@dataclass(frozen=True)
class Renaming:
    """Topics of *source* whose names match *topics* are called ``prefix + name + suffix`` at *target*."""

    source: str
    target: str
    topics: str
    prefix: str
    suffix: str

    @property
    def is_same(self) -> bool:
        """Whether it changes nothing, and only keeps later rules from matching."""
        return not (self.prefix or self.suffix)

    def copy_of(self, topic: str) -> str:
        """Return the name of the copy of *topic*."""
        return f"{self.prefix}{topic}{self.suffix}"

    def inner(self, name: str) -> str | None:
        """Return the part of *name* between prefix and suffix; None for a name without them."""
        size = len(name) - len(self.suffix)
        is_one = name.startswith(self.prefix) and name.endswith(self.suffix) and size > len(self.prefix)
        return name[len(self.prefix) : size] if is_one else None


@dataclass(frozen=True)
class RuleNames:
    """*rules* in their order. A renamed stream is ``dc1/orders`` inside, any other has the name of its topic."""

    rules: Sequence[Renaming]
    clusters: Sequence[str]

    @classmethod
    def of(cls, rules: Sequence[NameRule], aliases: Mapping[str, str]) -> RuleNames:
        """Return the names by *rules* of the configuration; *aliases* are the mirror's, by ours."""
        renamings = []
        for rule in rules:
            name = rule.name.replace("{from}", aliases[rule.source]).replace("{to}", aliases[rule.target])
            prefix, _, suffix = name.partition("{topic}")
            renamings.append(Renaming(rule.source, rule.target, rule.topics, prefix, suffix))
        return cls(tuple(renamings), tuple(aliases))

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream of a name; None where it could be several, or a copy of the cluster's own topic.

        None also for a name that another cluster has for a copy, which may be copied on with the copy as its origin.
        """
        at, rest, seen = cluster, topic, {(cluster, topic)}
        while not self._is_copied_on(at, rest):
            hops = self._hops(at, rest)
            if not hops:
                return f"{at}{_BOUND}{rest}" if self._is_renamed(at, rest) else rest
            at, rest = min(hops)
            if len(hops) > 1 or (at, rest) in seen or at == cluster:
                return None
            seen.add((at, rest))
        return None

    def name(self, cluster: str, stream: str) -> str | None:
        """Return the name of *stream* at *cluster* after the fewest hops; None: it has none."""
        home, topic = self.home(stream), self.origin_topic(stream)
        names: dict[str, str] = {} if home is None else {home: topic}
        waiting = list(names)
        while waiting and cluster not in names:
            at = waiting.pop(0)
            for target in self.clusters:
                if target not in names:
                    names[target] = self._called(at, target, names[at])
                    waiting.append(target)
        name = names.get(cluster, topic)
        return name if self.stream(cluster, name) == stream else None

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where any may."""
        home, _, topic = stream.partition(_BOUND)
        return home if topic else None

    def origin_topic(self, stream: str) -> str:
        """Return the name of *stream* where it is produced."""
        return stream.partition(_BOUND)[2] or stream

    def affixes(self, cluster: str) -> list[Affix]:
        """Return the affixes that names at *cluster* may add to those of origins; errs to more."""
        return [("", ""), *dict.fromkeys(self._affixes(cluster, (cluster,)))]

    def problems(self, cluster: str, topic: str) -> Iterator[str]:
        """Yield why copies of *topic* are ambiguous, with the names."""
        hops = self._hops(cluster, topic)
        if len(hops) > 1:
            places = " or ".join(f"{name} of {source}" for source, name in sorted(hops))
            yield f"{topic} may be a copy of {places}; name the copies apart"
            return
        stream = self.stream(cluster, topic)
        for target in self.clusters if stream is not None else ():
            copy = self._called(cluster, target, topic)
            there = self.stream(target, copy)
            # Under its own name it may not be mirrored there at all; if it is, headers cannot distinguish the two.
            if there not in (stream, None) and (copy != topic or self.home(there) == cluster):
                does = f"becomes {copy}" if copy != topic else "keeps its name"
                yield f"{topic} {does} at {target}, where that is something else; name the copies apart"

    def _affixes(self, cluster: str, way: tuple[str, ...]) -> Iterator[Affix]:
        for rule in self.rules:
            if rule.target != cluster or rule.is_same:
                continue
            prefix, suffix = re.escape(rule.prefix), re.escape(rule.suffix)
            yield prefix, suffix
            if rule.source not in way:
                for more in self._affixes(rule.source, (*way, rule.source)):
                    yield prefix + more[0], more[1] + suffix

    def _hops(self, cluster: str, topic: str) -> set[tuple[str, str]]:
        """Return the clusters that a topic may have been mirrored from, with its name there; none: it is local."""
        found = self._by_rules(cluster, topic)
        if found or self._is_renamed(cluster, topic):
            return found
        others = [each for each in self.clusters if each != cluster and self._is_renamed(each, topic)]
        return {(each, topic) for each in others if self._called(each, cluster, topic) == topic}

    def _by_rules(self, cluster: str, topic: str) -> set[tuple[str, str]]:
        """Return the same of what rules have renamed on its way to the cluster."""
        rules = [rule for rule in self.rules if rule.target == cluster and not rule.is_same]
        inner = {(rule.source, name) for rule in rules if (name := rule.inner(topic)) is not None}
        return {(source, name) for source, name in inner if self._called(source, cluster, name) == topic}

    def _is_copied_on(self, cluster: str, topic: str) -> bool:
        """Return whether the topic may be a renamed copy of another cluster, mirrored on under the name it has there.

        Its records would have offsets of the renamed original, whose log has another name.
        """
        if self._by_rules(cluster, topic):
            return False
        ways = [each for each in self.clusters if each != cluster and self._called(each, cluster, topic) == topic]
        return any(source != cluster for each in ways for source, _ in self._by_rules(each, topic))

    def _called(self, source: str, target: str, topic: str) -> str:
        """Return the name at *target* of a topic of *source*."""
        for rule in self.rules:
            if (rule.source, rule.target) == (source, target) and is_match([rule.topics], topic):
                return rule.copy_of(topic)
        return topic

    def _is_renamed(self, cluster: str, topic: str) -> bool:
        return any(self._called(cluster, target, topic) != topic for target in self.clusters)


def irreversible(names: RuleNames) -> Iterator[tuple[int, str]]:
    """Yield the number of each rule with ambiguous copies, and why, as far as patterns tell."""
    examples = {each for rule in names.rules for each in _examples(rule.topics)}
    for number, rule in enumerate(names.rules):
        for topic in sorted(each for each in examples if is_match([rule.topics], each)):
            if reasons := [*names.problems(rule.source, topic), *names.problems(rule.target, rule.copy_of(topic))]:
                yield number, f"cannot be reversed: {reasons[0]}"
                break


def is_copied_on(names: RuleNames) -> bool:
    """Return whether a copy that one rule has renamed may be renamed again on its way to a third cluster.

    Errs to yes where the patterns' topics are unknown.
    """
    rules = [each for each in names.rules if not each.is_same]
    for first in rules:
        copies = {first.copy_of(each) for each in _examples(first.topics)}
        onward = [each for each in rules if each.source == first.target and each.target != first.source]
        if any(not copies or any(is_match([then.topics], each) for each in copies) for then in onward):
            return True
    return False


def _examples(pattern: str) -> set[str]:
    """Return some names that *pattern* matches."""
    plain = pattern.replace("\\.", ".")
    made = {
        re.sub(r"\.[*+]\??|\[[^]]*\][*+]?|\\[dw][*+]?", each, pattern).replace("\\.", ".") for each in ("1", "x", "")
    }
    return {each for each in {plain, *made} if each and is_match([pattern], each) and re.fullmatch(r"[\w.-]+", each)}
