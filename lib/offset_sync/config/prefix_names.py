"""MirrorMaker's DefaultReplicationPolicy: a copy has the alias of the cluster that it was read from before its name.

``dc1``'s ``orders`` is ``dc1.orders`` at ``dc2``, and ``dc2.dc1.orders`` where it was mirrored from there: the
innermost name is that of the origin. As in Kafka's class (``topicSource``, ``upstreamTopic``, ``originalTopic``), but
by known aliases only: ``pay.eu`` is local unless ``pay`` is a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from offset_sync.config.stream_names import Affix

HEARTBEATS = "heartbeats"
"""MirrorMaker's topic that every policy of names renames, also the one that keeps all other names."""


@dataclass(frozen=True)
class PrefixNames:
    """*aliases* are the mirror's, by ours; none followed by the *separator* is the beginning of another one.

    The name of a stream is that of its direct copy.
    """

    aliases: Mapping[str, str]
    separator: str

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream of a name; None for MirrorMaker's own topics and for a copy of the cluster's own topic.

        MirrorMaker makes no such copy: it would be mirrored in a cycle for ever.
        """
        at, rest = cluster, topic
        while (hop := self._hop(at, rest)) is not None:
            at, rest = hop
        if self._is_mirrors_own(rest) or at not in self.aliases or (at == cluster and rest != topic):
            return None
        return f"{self._prefix(at)}{rest}"

    def name(self, cluster: str, stream: str) -> str | None:
        """Return the name of *stream* at *cluster* after the fewest hops; None: it has none."""
        home = self.home(stream)
        name = stream if cluster != home else self.origin_topic(stream)
        return name if name is not None and self.stream(cluster, name) == stream else None

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced."""
        hop = self._hop(None, stream)
        return None if hop is None else hop[0]

    def origin_topic(self, stream: str) -> str | None:
        """Return the name of *stream* where it is produced; None where it is no stream."""
        hop = self._hop(None, stream)
        return None if hop is None else hop[1]

    def affixes(self, cluster: str) -> list[Affix]:
        """Return the affixes that names at *cluster* may add to those of origins."""
        others = [each for each in self.aliases if each != cluster]
        on, once_more = self._any_of(others, "(?!{}|$)"), self._any_of(self.aliases, "(?!{}|$)")
        last, only = self._any_of(self.aliases, "(?={})"), self._any_of(others, "(?={})")
        return [(f"(?:{on}{once_more}*+{last}?+|{only})?+", "")]

    def problems(self, cluster: str, topic: str) -> Iterable[str]:
        """Return why the copies of *topic* are ambiguous: they never are."""
        return ()

    def _prefix(self, cluster: str) -> str:
        return f"{self.aliases[cluster]}{self.separator}"

    def _is_mirrors_own(self, topic: str) -> bool:
        is_internal = topic.startswith(".") or topic.endswith((".internal", f"{self.separator}internal"))
        return is_internal or topic == HEARTBEATS

    def _any_of(self, clusters: Iterable[str], ahead: str) -> str:
        """Return an expression for one of the prefixes, each followed by *ahead*, where ``{}`` is that prefix.

        At a cluster its own alias is no prefix of a copy, so the name begins there.
        """
        prefixes = [re.escape(self._prefix(each)) for each in clusters]
        return "(?:" + "|".join(f"{each}{ahead.replace('{}', each)}" for each in prefixes) + ")"

    def _hop(self, at: str | None, topic: str) -> tuple[str, str] | None:
        """Return the cluster that the topic *at* a cluster was mirrored from, and its name there; None: it is local."""
        for cluster in self.aliases:
            prefix = self._prefix(cluster)
            if cluster != at and topic.startswith(prefix) and len(topic) > len(prefix):
                return cluster, topic.removeprefix(prefix)
        return None


def ambiguous_aliases(aliases: Mapping[str, str], separator: str) -> list[tuple[str, str]]:
    """Return the pairs of clusters where the prefix of the first is the beginning of that of the second."""
    prefixes = {cluster: f"{alias}{separator}" for cluster, alias in aliases.items()}
    return [
        (one, other)
        for one, first in prefixes.items()
        for other, second in prefixes.items()
        if aliases[one] != aliases[other] and second.startswith(first)
    ]
