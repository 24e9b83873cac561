"""Checks that the mirror stamps the copies of each topic, and that the stamps can be read. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, takewhile

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import NO_PLACE, OTHER_ORIGIN
from offset_sync.jobs.checks.stamps import Kind, Stamp, Stamped, has_stamps
from offset_sync.kafka.tail_reader import SeenLogs
from offset_sync.model.finding import Finding, Level, Lines, some
from offset_sync.model.values import TopicPartition

CHECK = "mirror headers"
_WRONG = (Kind.WRAPPED, Kind.UNREADABLE)
_CONVERTER = "set the connector's header.converter to org.apache.kafka.connect.converters.ByteArrayConverter"
_STAMP_THEM = (
    "configure the mirror to stamp them (docs/mirrors.md), or identify them by contents (docs/mirrors-contents.md)"
)
_Content = tuple[int, bytes | None, bytes | None]
"""Time, key and value."""
_Records = Mapping[str, Sequence[Stamped]]
"""By cluster, or by stream."""
_Unstamped = Mapping[str, tuple[str, str]]
"""By stream: two clusters that have the same records without headers."""


def judge_headers(config: Config, seen: Mapping[str, SeenLogs], records: _Records) -> Iterator[Finding]:
    """Yield findings about the headers at each cluster; *records* are those of *seen*."""
    topics = {alias: _by_stream(each) for alias, each in records.items()}
    unstamped = _unstamped_copies(config, records)
    for alias, mine in seen.items():
        lines = Lines(f"clusters.{alias}", CHECK)
        if mine.error:
            yield lines.of(Level.FAIL, mine.error)
        elif not config.is_stamped:
            yield lines.of(Level.SKIP, "not checked: copies are identified by an extension")
        else:
            yield from _with_headers(topics[alias], lines)
            yield from _without_headers(config, alias, topics, unstamped, lines)
            yield from _without_records(config, alias, mine, topics[alias], lines)
    yield from _told_unstamped(config, unstamped)


def _by_stream(records: Sequence[Stamped]) -> dict[str, list[Stamped]]:
    found: dict[str, list[Stamped]] = {}
    for each in records:
        found.setdefault(each.place.topic, []).append(each)
    return found


def _with_headers(topics: _Records, lines: Lines) -> Iterator[Finding]:
    """Yield a line for each kind of stamp and remedy."""
    found: dict[tuple[Kind, str], list[Stamped]] = {}
    for each in (each for records in topics.values() for each in records if each.stamp.kind is not Kind.NATIVE):
        found.setdefault((each.stamp.kind, _remedy(each.stamp)), []).append(each)
    for (kind, remedy), stamped in sorted(found.items(), key=lambda item: item[0][0].value):
        streams = {each.place.topic for each in stamped}
        count = f"{len(stamped)} of {sum(len(topics[each]) for each in streams)}"
        level = Level.OK if kind is Kind.STAMPED else Level.FAIL if kind in _WRONG else Level.WARN
        yield lines.of(level, _text(stamped, remedy, count), {each.topic for each in stamped})


def _remedy(stamp: Stamp) -> str:
    """Return the remedy for a stamp that cannot be read; empty for others, whose kind is enough."""
    if stamp.kind is not Kind.UNREADABLE:
        return ""
    if stamp.said == NO_PLACE:
        return "wait until they have expired, or leave mirror.place_header empty"
    if stamp.said == OTHER_ORIGIN:
        return "set clusters.….origin to what the mirror writes, and mirror.names to how it names copies"
    if stamp.said.startswith("origin header"):
        return "set clusters.….origin to what the mirror writes"
    return "correct mirror.offset_encoding and the headers' names"


def _text(stamped: Sequence[Stamped], remedy: str, count: str) -> str:
    """Return the text for *stamped*, all of one kind and remedy."""
    first, said = stamped[0], some({each.stamp.said for each in stamped})
    match first.stamp.kind:
        case Kind.WRAPPED:
            text = f"{said}, in {count}: a wrong header converter; {_CONVERTER} (docs/mirrors.md)"
            return f"{text}, and wait until these records expire"
        case Kind.UNREADABLE:
            where = f"{first.topic}-{first.place.partition} at offset {first.record.content.offset}"
            return f"{count} cannot be read, first {where}: {said}; {remedy}"
        case Kind.OTHER_PRESET:
            return f"{count} have {said}; set that preset if that mirror makes the copies"
        case Kind.ELSEWHERE:
            text = f"{count} have headers of a record of another log, passed on by their producer; they count as"
            return f"{text} produced here"
        case Kind.UNKNOWN:
            return f"the origin {said}: no cluster has this origin; set clusters.….origin to what the mirror writes"
        case Kind.FROM_HERE:
            text = f"{count} name this cluster as their origin ({said}), as only copies elsewhere should: configure"
            return f"{text} each flow to stamp the cluster that it reads from"
        case _:
            return f"stamped, from {said}; {count} records checked"


def _without_headers(
    config: Config, alias: str, topics: Mapping[str, _Records], unstamped: _Unstamped, lines: Lines
) -> Iterator[Finding]:
    """Yield findings about records without headers; *unstamped* streams are reported elsewhere."""
    mine, found = topics[alias], dict[tuple[Level, str], list[str]]()
    for stream in mine:
        verdict = None if stream in unstamped else _verdict(config, alias, stream, topics)
        if verdict is not None:
            found.setdefault(verdict, []).append(stream)
    headers = f"{config.mirror.origin_header} and {config.mirror.offset_header}"
    for (level, text), streams in found.items():
        records = [each for stream in streams for each in mine[stream]]
        natives = sum(each.stamp.kind is Kind.NATIVE for each in records)
        none = f"none of {len(records)} records checked has {headers}"
        yield lines.of(level, text.format(none=none, count=f"{natives} of {len(records)}"), {r.topic for r in records})


def _verdict(config: Config, alias: str, stream: str, topics: Mapping[str, _Records]) -> tuple[Level, str] | None:
    """Return the verdict on a stream's records without headers: in most cases it depends on other clusters."""
    # Only the mirror should write to a topic named after another cluster.
    is_named = config.names.home(stream) is not None
    are_native = {each.stamp.kind is Kind.NATIVE for each in topics[alias][stream]}
    if are_native != {True}:
        text = "{count} have no headers, so they count as unread by all groups: another producer wrote them, or"
        return (
            (Level.WARN, f"{text} the mirror did before it stamped copies") if is_named and True in are_native else None
        )
    if config.strategy_of(stream) == "timestamp":
        return Level.SKIP, "none has headers, and strategy timestamp needs none"
    if is_named:
        return (
            Level.FAIL,
            f"{{none}}, and by their name they are copies, so they count as unread by all groups; {_STAMP_THEM}",
        )
    others = [each.stamp for at, there in topics.items() if at != alias for each in there.get(stream, ())]
    if not any(each.is_native for each in others):
        if any(each.origin == alias for each in others):
            return Level.OK, "produced here; the copies elsewhere are stamped"
        if others:
            return Level.SKIP, "probably produced here; problems of the copies are reported at their clusters"
    return Level.WARN, "{none}; correct only if nothing is mirrored to this cluster yet; else correct section mirror"


def _without_records(config: Config, alias: str, seen: SeenLogs, topics: _Records, lines: Lines) -> Iterator[Finding]:
    told = {stream for stream in seen.partitions if has_stamps(config, alias, stream)}
    late = (told - topics.keys()) & seen.unread
    if late:
        names = {config.names.outside(alias, each) for each in late}
        yield lines.of(Level.SKIP, "not checked: its records were not read in time; repeat check", names)
    if not told:
        yield lines.of(Level.SKIP, "no topic here whose copies are identified by headers")
    elif empty := told - topics.keys() - late:
        yield lines.of(Level.SKIP, "no record there yet", {config.names.outside(alias, each) for each in empty})


def _unstamped_copies(config: Config, records: _Records) -> dict[str, tuple[str, str]]:
    """Return for each stream the first two clusters that have the same records without headers.

    Strategy ``timestamp`` needs no headers, so its topics are not checked.
    """
    natives = {alias: _new_natives(each) for alias, each in records.items()}
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations(natives, 2):
        for place, contents in natives[one].items():
            if contents & natives[other].get(place, set()) and config.strategy_of(place.topic) != "timestamp":
                found.setdefault(place.topic, (one, other))
    return found


def _new_natives(records: Sequence[Stamped]) -> dict[TopicPartition, set[_Content]]:
    """Return time, key and value of the records above the last one with a stamp: the mirror's present behaviour.

    Errs to fewer: repeated contents, as of heartbeats, prove nothing and are left out.
    """
    logs: dict[TopicPartition, list[Stamped]] = {}
    for each in records:
        logs.setdefault(each.place, []).append(each)
    found = {}
    for place, log in logs.items():
        new = [each.record.content for each in takewhile(lambda each: each.stamp.is_native, reversed(log))]
        counted = Counter((each.key, each.value) for each in new)
        unique = (each for each in new if counted[each.key, each.value] == 1)
        found[place] = {(each.timestamp_ms, each.key, each.value) for each in unique}
    return found


def _told_unstamped(config: Config, found: _Unstamped) -> Iterator[Finding]:
    """Yield a line for each two clusters between which copies have no headers."""
    headers = f"{config.mirror.origin_header} and {config.mirror.offset_header}"
    for one, other in sorted({*found.values()}):
        names = {config.names.origin_topic(each) or each for each, pair in found.items() if pair == (one, other)}
        text = f"{one} and {other} have the same records without {headers}, so copies count as produced at their"
        yield Lines("mirror", CHECK).of(Level.FAIL, f"{text} own cluster; {_STAMP_THEM}", names)
