"""Whether the mirror stamps the copies of each topic, and whether what it stamps can be read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from offset_sync.config import Config, Mirror
from offset_sync.config.presets import PRESETS
from offset_sync.decode.one_origin import OTHER_ORIGIN
from offset_sync.decode.place_header import NO_PLACE
from offset_sync.jobs.checks.stamps import Stamp, StampedTopic
from offset_sync.jobs.checks.unstamped_copies import Unstamped
from offset_sync.kafka.tail_reader import SeenLogs
from offset_sync.model.finding import Finding, Level, Lines, some

CHECK = "mirror headers"
_CONVERTER = "set the connector's header.converter to org.apache.kafka.connect.converters.ByteArrayConverter"
Topics = Mapping[str, StampedTopic]
"""By stream."""
Chosen = Callable[[Stamp], bool]


def judge_headers(
    config: Config, seen: SeenLogs, topics: Mapping[str, Topics], unstamped: Unstamped
) -> Iterator[Finding]:
    """Yield what the headers at the cluster of *seen* say; *topics* are those of all clusters.

    *unstamped* are streams whose copies are known to bear no headers: they are told elsewhere.
    """
    alias = seen.alias
    lines = Lines(f"clusters.{alias}", CHECK)
    if seen.error:
        yield Finding(Level.FAIL, lines.place, CHECK, seen.error.removeprefix(f"{lines.place}: "))
        return
    if config.is_by_contents:
        yield Finding(Level.SKIP, lines.place, CHECK, "not looked at: contents tell what a copy is (mirror.identity)")
        return
    mine = list(topics[alias].values())
    known = {origin: each for origin, each in config.origins().items() if each != alias}
    yield from _wrong(config, mine, lines)
    yield from _from_here(mine, {*config.origins()} - known.keys(), lines)
    yield from _right(config, mine, known, lines)
    yield from _bare(config, alias, topics, unstamped, lines)
    yield from _nothing(seen, mine, lines)


def _wrong(config: Config, mine: Sequence[StampedTopic], lines: Lines) -> Iterator[Finding]:
    yield from _wrapped(mine, lines)
    yield from _unreadable(mine, lines)
    yield from _other_presets(mine, lines)
    if handed_on := _having(mine, lambda each: each.is_elsewhere):
        count, of_all = _counts(handed_on, lambda each: each.is_elsewhere)
        text = f"{count} of {of_all} have headers of a record of another place, handed on by whoever wrote them; they"
        yield lines.of(Level.WARN, handed_on, f"{text} count as produced here")
    known = config.origins()
    if unknown := {each for topic in mine for each in topic.origins if each not in known}:
        named = {topic.name for topic in mine if topic.origins & unknown}
        text = f"{some(unknown)}: no cluster has this origin; set clusters.….origin to what the mirror writes"
        yield lines.of(Level.WARN, named, f"the origin {text}" if len(unknown) == 1 else f"the origins {text}")


def _from_here(mine: Sequence[StampedTopic], own: set[str], lines: Lines) -> Iterator[Finding]:
    """Yield what bears the stamp of the cluster where it stands: no mirror that is right copies that back."""
    if found := _having(mine, lambda each: each.origin in own):
        count, of_all = _counts(found, lambda each: each.origin in own)
        text = (
            f"{count} of {of_all} say that they were produced here, {some(own)}, which only a copy of elsewhere would"
        )
        yield lines.of(Level.WARN, found, f"{text} say: have each flow stamp the origin that it reads from")


def _right(config: Config, mine: Sequence[StampedTopic], known: Mapping[str, str], lines: Lines) -> Iterator[Finding]:
    if stamped := {topic.name: topic for topic in mine if topic.origins & known.keys()}:
        count, of_all = _counts(stamped, lambda each: each.origin in known)
        text = f"stamped, from {some({each for topic in stamped.values() for each in topic.origins & known.keys()})}"
        yield lines.of(Level.OK, stamped, f"{text}; {count} of {of_all} records looked at")
    # Into a topic that is named for another cluster nobody writes but the mirror.
    strange = {n: t for n, t in stamped.items() if t.has_natives and config.names.home(t.stream) is not None}
    if strange:
        count, of_all = _counts(strange, lambda each: each.is_native)
        text = f"{count} of {of_all} have no headers, so they are unread by everyone: written by somebody else than the"
        yield lines.of(Level.WARN, strange, f"{text} mirror, or before it stamped")


def _bare(
    config: Config, alias: str, topics: Mapping[str, Topics], unstamped: Unstamped, lines: Lines
) -> Iterator[Finding]:
    """Yield what is to be said of topics without any header: in most cases that depends on other clusters."""
    bare = [t for t in topics[alias].values() if t.stamps and all(each.is_native for each in t.stamps)]
    by_verdict: dict[tuple[Level, str], dict[str, StampedTopic]] = {}
    for topic in bare:
        if topic.stream not in unstamped:
            verdict = _verdict_of_bare(config, alias, topic.stream, topics)
            by_verdict.setdefault(verdict, {})[topic.name] = topic
    for (level, text), found in by_verdict.items():
        count = sum(len(topic.stamps) for topic in found.values())
        yield lines.of(level, found, text.format(f"none of {count} records looked at has {_names(config.mirror)}"))


def _verdict_of_bare(config: Config, alias: str, stream: str, topics: Mapping[str, Topics]) -> tuple[Level, str]:
    if config.strategy_of(stream) == "timestamp":
        return Level.SKIP, "none has headers, and strategy timestamp does without"
    if config.names.home(stream) is not None:
        remedy = "have the mirror stamp them (docs/mirrors.md), or tell them by contents (docs/mirrors-contents.md)"
        return Level.FAIL, f"{{}}, and by their name they are copies, so they are unread by everyone; {remedy}"
    others = [each[stream] for at, each in topics.items() if at != alias and stream in each]
    if not any(each.has_natives for each in others):
        own = {origin for origin, each in config.origins().items() if each == alias}
        if any(each.origins & own for each in others):
            return Level.OK, "produced here; the copies elsewhere are stamped"
        if any(each.stamps for each in others):
            return Level.SKIP, "produced here, it seems; what is wrong with the copies is told where they are"
    return Level.WARN, "{}; right only if nothing is mirrored to this cluster yet, else set mirror right"


def _nothing(seen: SeenLogs, mine: Sequence[StampedTopic], lines: Lines) -> Iterator[Finding]:
    empty = [topic for topic in mine if not topic.stamps]
    if late := {topic.name for topic in empty if topic.stream in seen.unread}:
        yield lines.of(Level.SKIP, late, "not looked at: its records did not come in time; ask again")
    if not mine:
        yield Finding(Level.SKIP, lines.place, CHECK, "no topic here whose copies are told by headers")
    elif none := {topic.name for topic in empty} - late:
        yield lines.of(Level.SKIP, none, "no record there yet")


def _wrapped(mine: Sequence[StampedTopic], lines: Lines) -> Iterator[Finding]:
    if found := _having(mine, lambda each: bool(each.wrapped)):
        count, of_all = _counts(found, lambda each: bool(each.wrapped))
        first = next(each.wrapped for topic in found.values() for each in topic.stamps if each.wrapped)
        text = f"{first}, in {count} of {of_all}: a wrong header converter;"
        yield lines.of(Level.FAIL, found, f"{text} {_CONVERTER} (docs/mirrors.md), and let these expire")


def _unreadable(mine: Sequence[StampedTopic], lines: Lines) -> Iterator[Finding]:
    by_remedy: dict[str, dict[str, StampedTopic]] = {}
    for topic in mine:
        for each in topic.stamps:
            if each.reason:
                by_remedy.setdefault(_remedy(each.reason), {})[topic.name] = topic
    for remedy, found in by_remedy.items():

        def is_one(each: Stamp, remedy: str = remedy) -> bool:
            return bool(each.reason) and _remedy(each.reason) == remedy

        count, of_all = _counts(found, is_one)
        topic = next(iter(found.values()))
        log, row = next((log, row) for log in topic.logs for row, each in enumerate(log.stamps) if is_one(each))
        where = f"{topic.name}-{log.place.partition} at offset {log.records[row].content.offset}"
        text = f"{count} of {of_all} cannot be read, first {where}: {log.stamps[row].reason}; {remedy}"
        yield lines.of(Level.FAIL, found, text)


def _remedy(reason: str) -> str:
    if reason == NO_PLACE:
        return "wait until they have expired, or leave mirror.place_header empty"
    if reason == OTHER_ORIGIN:
        return "set clusters.….origin to what the mirror writes, and mirror.names to what it calls copies"
    if reason.startswith("origin header"):
        return "set clusters.….origin to what the mirror writes"
    return "set mirror.offset_encoding and the headers' names right"


def _other_presets(mine: Sequence[StampedTopic], lines: Lines) -> Iterator[Finding]:
    """Yield a warning for each preset whose headers records have, though others are looked at."""
    for name, preset in PRESETS.items():

        def is_one(each: Stamp, name: str = name) -> bool:
            return each.preset == name

        if found := _having(mine, is_one):
            count, of_all = _counts(found, is_one)
            names = f"{preset.origin_header} and {preset.offset_header}"
            text = f"{count} of {of_all} have {names}, the headers of mirror.preset {name}; set it if that mirror"
            yield lines.of(Level.WARN, found, f"{text} makes the copies")


def _having(mine: Sequence[StampedTopic], is_one: Chosen) -> dict[str, StampedTopic]:
    return {topic.name: topic for topic in mine if any(is_one(each) for each in topic.stamps)}


def _counts(topics: Mapping[str, StampedTopic], is_one: Chosen) -> tuple[int, int]:
    stamps = [each for topic in topics.values() for each in topic.stamps]
    return sum(is_one(each) for each in stamps), len(stamps)


def _names(mirror: Mirror) -> str:
    return f"{mirror.origin_header} and {mirror.offset_header}"
