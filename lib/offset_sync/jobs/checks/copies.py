"""Checks copies against their stamps, or has an extension do so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.jobs.checks.asking import DEADLINE_S
from offset_sync.jobs.checks.stamps import Kind, Stamped
from offset_sync.kafka.tail_reader import Pair, SeenLogs
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import OffsetRange

_APPENDED = "have timestamps of their own (message.timestamp.type=LogAppendTime)"


class Compared(NamedTuple):
    """A copy whose original was found; its stamp has the place of the original."""

    copy: Stamped
    pair: Pair


def check_copies(config: Config, seen: Mapping[str, SeenLogs], stamped: Sequence[Stamped], alias: str) -> list[Finding]:
    """Compare some of the newest copies at *alias* with their originals, which are read now; return findings.

    *stamped* are the records there whose headers count: the last copy of each log is compared, unless its original is
    deleted or not read in time.
    """
    if not config.is_stamped:
        found: list[Finding] = config.of_extension("checks").judge(config, seen, alias)
        return found
    newest = {each.place: each for each in stamped if each.stamp.kind is Kind.STAMPED}
    pairs = list[Compared]()
    for origin, there in seen.items():
        pairs += _compared(there, [each for each in newest.values() if each.stamp.origin == origin])
    return [*_judge_stamped(config, pairs, Lines(f"clusters.{alias}", "copies"))]


def _compared(there: SeenLogs, copies: Sequence[Stamped]) -> list[Compared]:
    """Return those of *copies* whose originals were found."""
    if there.error or not copies:
        return []
    offsets = {each.place: each.stamp.offset for each in copies}
    try:
        ranges = {
            place: OffsetRange(max(offsets[place], each.log_start), min(offsets[place] + 1, each.log_end))
            for place, each in there.admin.ends(offsets, DEADLINE_S).items()
        }
        records = there.reader.read(ranges, DEADLINE_S).records
    except ClusterError:
        return []
    originals = {(place, each.content.offset): each for place, some in records.items() for each in some}
    found = ((each, originals.get((each.place, each.stamp.offset))) for each in copies)
    return [Compared(copy, Pair(copy.record, original)) for copy, original in found if original is not None]


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
