"""Whether copies of strategy ``identity`` are the same byte for byte, as far as the newest records tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from offset_sync.config import Config
from offset_sync.jobs.checks.stamped_copies import TIMES
from offset_sync.kafka.tail_reader import Ends, SeenLogs, TailRecord
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import TopicPartition

_WITHHELD = "it is withheld as COPY_WRITTEN"


@dataclass(frozen=True)
class SameOffsets:
    """The records that a copy and its original have at the same offset.

    *beyond* is how many offsets the copy has behind the end of its original, which was asked later.
    """

    count: int
    other: TailRecord | None = None
    other_time: TailRecord | None = None
    beyond: int = 0

    @property
    def is_other(self) -> bool:
        """Whether any record is another one, or of another time."""
        return self.other is not None or self.other_time is not None


def at_the_same_offsets(
    config: Config, seen: Mapping[str, SeenLogs], later: Mapping[str, Ends], alias: str
) -> dict[TopicPartition, SameOffsets]:
    """Return, log by log of the copies at *alias*, what is the same; *later* are ends of originals, asked then."""
    mine, found = seen[alias], {}
    for place, end in mine.ends.items():
        origin = config.original_of(place.topic)
        if origin in (None, alias) or place not in later.get(str(origin), {}):
            continue
        originals = {each.content.offset: each for each in seen[str(origin)].records.get(place, ())}
        both = [(each, originals.get(each.content.offset)) for each in mine.records.get(place, ())]
        pairs = [(copy, original) for copy, original in both if original is not None]
        other = next((copy for copy, original in pairs if not _is_same(copy, original)), None)
        other_time = next((copy for copy, original in pairs if not _is_same_time(copy, original)), None)
        beyond = max(0, end.log_end - later[str(origin)][place].log_end)
        if pairs or beyond:
            found[place] = SameOffsets(len(pairs), other, other_time, beyond)
    return found


def judge_copies(config: Config, mine: SeenLogs, found: Mapping[TopicPartition, SameOffsets]) -> Iterator[Finding]:
    """Yield whether the copies at a cluster are what strategy ``identity`` takes them for."""
    alias = mine.alias
    lines = Lines(f"clusters.{alias}", "copies")
    named = {place: config.names.outside(alias, place.topic) for place in found}
    wrong: set[str] = set()
    beyond = {place: each.beyond for place, each in found.items() if each.beyond}
    if beyond:
        place, count = next(iter(beyond.items()))
        where = f"{named[place]}-{place.partition}"
        text = f"{where} ends {count} offsets behind its original, so somebody else writes there"
        wrong |= {named[each] for each in beyond}
        yield lines.of(Level.FAIL, wrong, f"{text}; {_WITHHELD}: take away who writes, or choose strategy exact")
    bad = {place: each for place, each in found.items() if each.is_other and named[place] not in wrong}
    if bad:
        yield _differing(bad, named, lines)
        wrong |= {named[each] for each in bad}
    there = {stream for stream in mine.partitions if config.original_of(stream) not in (None, alias)}
    if none := {config.names.outside(alias, each) for each in there - {place.topic for place in found}}:
        text = "nothing stands at the same offsets of copy and original yet, or one of them did not answer in time"
        yield lines.of(Level.SKIP, none, text)
    if right := {*named.values()} - wrong:
        count = sum(each.count for place, each in found.items() if named[place] in right)
        yield lines.of(Level.OK, right, f"byte for byte the same at the {count} offsets looked at")


def _differing(bad: Mapping[TopicPartition, SameOffsets], named: Mapping[TopicPartition, str], lines: Lines) -> Finding:
    place, each = next(iter(bad.items()))
    record = each.other or each.other_time
    assert record is not None
    first = f"first {named[place]}-{place.partition} at offset {record.content.offset}"
    topics = {named[each] for each in bad}
    if all(each.other is None for each in bad.values()):
        has_own = any(each.other_time is not None and each.other_time.is_appended for each in bad.values())
        what = TIMES if has_own else "have other times than their originals"
        return lines.of(
            Level.FAIL, topics, f"copies {what}, {first}; {_WITHHELD}: keep the times, or choose strategy exact"
        )
    text = f"another record than the original's at the same offset, {first}, so this is no copy byte for byte;"
    return lines.of(Level.FAIL, topics, f"{text} {_WITHHELD}: choose strategy exact, with a mirror that stamps")


def _is_same(copy: TailRecord, original: TailRecord) -> bool:
    here, there = copy.content, original.content
    return (here.key, here.value, here.headers) == (there.key, there.value, there.headers)


def _is_same_time(copy: TailRecord, original: TailRecord) -> bool:
    return copy.content.timestamp_ms == original.content.timestamp_ms
