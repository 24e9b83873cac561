"""Checks copies against their stamps, strategy ``identity`` or ``mirror.keeps``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.contents.check import judge_contents
from offset_sync.jobs.checks.asking import DEADLINE_S
from offset_sync.jobs.checks.stamps import Kind, Stamp, Stamped
from offset_sync.kafka.tail_reader import Ends, Pair, SeenLogs
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import OffsetRange, TopicPartition

_APPENDED = "have timestamps of their own (message.timestamp.type=LogAppendTime)"
_WITHHELD = "it is withheld as COPY_WRITTEN"


class Compared(NamedTuple):
    """A copy whose original was found; its stamp has the place of the original."""

    copy: Stamped
    pair: Pair


def check_copies(config: Config, seen: Mapping[str, SeenLogs], stamped: Sequence[Stamped], alias: str) -> list[Finding]:
    """Compare some of the newest copies at *alias* with their originals, which are read now; return findings.

    *stamped* are the records there whose headers count: the last copy of each log is compared, unless its original is
    deleted or not read in time.
    """
    if config.is_by_contents:
        return judge_contents(config, seen, alias)
    mine, outside = seen[alias], config.names.outside
    linked = {s: origin for s in mine.partitions if (origin := config.original_of(s)) not in (None, alias)}
    newest = {each.place: each for each in stamped if each.stamp.kind is Kind.STAMPED}
    copies = [*newest.values()]
    for place, records in mine.records.items():
        if (origin := linked.get(place.topic)) is not None:
            for each in records:
                stamp = Stamp(Kind.STAMPED, origin=origin, offset=each.content.offset)
                copies.append(Stamped(outside(alias, place.topic), place, each, stamp))
    pairs, written = list[Compared](), dict[TopicPartition, int]()
    for origin, there in seen.items():
        places = {place for place in mine.ends if linked.get(place.topic) == origin}
        ends, found = _originals(there, places, [each for each in copies if each.stamp.origin == origin])
        pairs += found
        for place in places & ends.keys():
            if (count := mine.ends[place].log_end - ends[place].log_end) > 0:
                written[TopicPartition(outside(alias, place.topic), place.partition)] = count
    lines = Lines(f"clusters.{alias}", "copies")
    by_stamp = [each for each in pairs if each.copy.place.topic not in linked]
    by_offset = [each for each in pairs if each.copy.place.topic in linked]
    topics = {outside(alias, each) for each in linked}
    return [*_judge_stamped(config, by_stamp, lines), *_judge_linked(by_offset, topics, written, lines)]


def _originals(there: SeenLogs, places: set[TopicPartition], copies: Sequence[Stamped]) -> tuple[Ends, list[Compared]]:
    """Return the present ends of the logs of *places* and *copies*, and the copies whose originals were found."""
    if there.error or not (places or copies):
        return {}, []
    offsets: dict[TopicPartition, list[int]] = {}
    for each in copies:
        offsets.setdefault(each.place, []).append(each.stamp.offset)
    try:
        ends = there.admin.ends(places | offsets.keys(), DEADLINE_S)
        ranges = {
            place: OffsetRange(max(min(offsets[place]), each.log_start), min(max(offsets[place]) + 1, each.log_end))
            for place, each in ends.items()
            if place in offsets
        }
        records = there.reader.read(ranges, DEADLINE_S).records
    except ClusterError:
        return {}, []
    originals = {(place, each.content.offset): each for place, some in records.items() for each in some}
    found = ((each, originals.get((each.place, each.stamp.offset))) for each in copies)
    return ends, [Compared(copy, Pair(copy.record, original)) for copy, original in found if original is not None]


def _judge_stamped(config: Config, pairs: Sequence[Compared], lines: Lines) -> Iterator[Finding]:
    """Yield how copies compare with the records that their stamps name; nothing if none could be compared."""
    others = [each for each in pairs if not each.pair.is_same]
    times = [each for each in pairs if each.pair.is_same and not each.pair.keeps_time]
    if others:
        text = f"{_count(others, pairs)} have another key or value than the record that their stamp names, first"
        remedy = "correct only if the mirror changes records; else who stamps them, and was the topic recreated?"
        yield lines.of(Level.WARN, f"{text} {_first(others)}; {remedy}", _topics(others))
    if appended := [each for each in times if each.copy.record.is_appended]:
        text = f"copies {_APPENDED}: {_harm(config, appended)}; set it to CreateTime there"
        yield lines.of(Level.WARN, text, _topics(appended))
    if produced := [each for each in times if not each.copy.record.is_appended]:
        text = f"{_count(produced, pairs)} have another timestamp than their originals, first {_first(produced)}:"
        text = f"{text} {_harm(config, produced)}; configure the mirror to keep timestamps"
        yield lines.of(Level.WARN, text, _topics(produced))
    if same := _topics(pairs) - _topics([*others, *times]):
        yield lines.of(Level.OK, "copies have the timestamp, key and value of the records that their stamps name", same)


def _judge_linked(
    pairs: Sequence[Compared], topics: set[str], written: Mapping[TopicPartition, int], lines: Lines
) -> Iterator[Finding]:
    """Yield whether the *topics* of strategy ``identity`` are copies byte for byte.

    *written* are logs that exceed the ends of their originals, read later, by that many offsets.
    """
    wrong = {each.topic for each in written}
    if written:
        place, count = next(iter(written.items()))
        text = f"{place.topic}-{place.partition} ends {count} offsets after its original, so a producer writes there;"
        yield lines.of(Level.FAIL, f"{text} {_WITHHELD}: stop that producer, or choose strategy exact", wrong)
    others = [
        each for each in pairs if not (each.pair.is_same and each.pair.keeps_headers) and each.copy.topic not in wrong
    ]
    if others:
        text = (
            f"at the same offset is another record than the original's, first {_first(others)}, so this is no copy byte"
        )
        text = f"{text} for byte; {_WITHHELD}: choose strategy exact, with a mirror that stamps"
        yield lines.of(Level.FAIL, text, _topics(others))
        wrong |= _topics(others)
    times = [each for each in pairs if not each.pair.keeps_time and each.copy.topic not in wrong]
    if times:
        is_appended = any(each.copy.record.is_appended for each in times)
        have = _APPENDED if is_appended else "have other timestamps than their originals"
        text = f"copies {have}, first {_first(times)};"
        text = f"{text} {_WITHHELD}: keep the timestamps, or choose strategy exact"
        yield lines.of(Level.FAIL, text, _topics(times))
        wrong |= _topics(times)
    right = [each for each in pairs if each.copy.topic not in wrong]
    if right:
        yield lines.of(Level.OK, f"byte for byte the same at the {len(right)} offsets compared", _topics(right))
    if none := topics - wrong - _topics(right):
        text = "copy and original have no offsets in common yet, or one of their clusters did not answer in time"
        yield lines.of(Level.SKIP, text, none)


def _topics(pairs: Sequence[Compared]) -> set[str]:
    return {each.copy.topic for each in pairs}


def _count(chosen: Sequence[Compared], pairs: Sequence[Compared]) -> str:
    topics = _topics(chosen)
    return f"{len(chosen)} of {sum(each.copy.topic in topics for each in pairs)}"


def _first(pairs: Sequence[Compared]) -> str:
    copy = pairs[0].copy
    here = f"{copy.topic}-{copy.place.partition} at offset {copy.record.content.offset}"
    return f"{here}, of {copy.stamp.origin} at {copy.stamp.offset}"


def _harm(config: Config, pairs: Sequence[Compared]) -> str:
    if any(config.strategy_of(each.copy.place.topic) == "timestamp" for each in pairs):
        return "strategy timestamp uses them, so its answers are too small, or withheld"
    return "offsets stay exact, but report_status compares timestamps: no group is InSync before the end of its log"
