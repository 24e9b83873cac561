"""Whether copies are what their stamps say, and have the times of their originals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from offset_sync.config import Config
from offset_sync.jobs.checks.originals import Pair
from offset_sync.kafka.tail_reader import SeenLogs
from offset_sync.model.finding import Finding, Level, Lines

TIMES = "have times of their own (message.timestamp.type=LogAppendTime)"


def judge_pairs(config: Config, seen: SeenLogs, pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield how the copies at a cluster compare with their originals; nothing where none could be compared."""
    if not pairs:
        return
    lines = Lines(f"clusters.{seen.alias}", "copies")
    others = [each for each in pairs if not _is_same_content(each)]
    times = [each for each in pairs if _is_same_content(each) and not _is_same_time(each)]
    if others:
        text = f"{_count(others, pairs)} have another key or value than the record that their stamp names, first"
        remedy = "right only if the mirror changes records; else who stamps them, and was the topic made anew?"
        yield lines.of(Level.WARN, _names(config, seen, others), f"{text} {_first(config, seen, others[0])}; {remedy}")
    appended = [each for each in times if each.copy.record.is_appended]
    if appended:
        text = f"copies {TIMES}: {_harm(config, appended)}; set it to CreateTime there"
        yield lines.of(Level.WARN, _names(config, seen, appended), text)
    if rest := [each for each in times if not each.copy.record.is_appended]:
        text = f"{_count(rest, pairs)} have another time than their originals, first {_first(config, seen, rest[0])}:"
        yield lines.of(
            Level.WARN, _names(config, seen, rest), f"{text} {_harm(config, rest)}; have the mirror keep the time"
        )
    if same := _names(config, seen, pairs) - _names(config, seen, [*others, *times]):
        yield lines.of(Level.OK, same, "copies have time, key and value of the records that their stamps name")


def _harm(config: Config, pairs: Iterable[Pair]) -> str:
    if any(config.strategy_of(each.copy.place.topic) == "timestamp" for each in pairs):
        return "strategy timestamp goes by them, and answers early or not at all"
    return "offsets are exact all the same, but report_status compares times and calls no group InSync before its end"


def _first(config: Config, seen: SeenLogs, pair: Pair) -> str:
    copy = pair.copy
    name = config.names.outside(seen.alias, copy.place.topic)
    here = f"{name}-{copy.place.partition} at offset {copy.record.content.offset}"
    return f"{here}, of {copy.origin} at {copy.offset}"


def _is_same_content(pair: Pair) -> bool:
    copy, original = pair.copy.record.content, pair.original.content
    return (copy.key, copy.value) == (original.key, original.value)


def _is_same_time(pair: Pair) -> bool:
    return pair.copy.record.content.timestamp_ms == pair.original.content.timestamp_ms


def _names(config: Config, seen: SeenLogs, pairs: Iterable[Pair]) -> set[str]:
    return {config.names.outside(seen.alias, each.copy.place.topic) for each in pairs}


def _count(some: Sequence[Pair], pairs: Sequence[Pair]) -> str:
    topics = {each.copy.place.topic for each in some}
    return f"{len(some)} of {sum(each.copy.place.topic in topics for each in pairs)}"
