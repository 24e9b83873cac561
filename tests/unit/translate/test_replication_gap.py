"""The records missing at the target, and the cost of a position other than t(c), against plain loops over records."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.replication_gap import (
    NEVER_YOUNG,
    OffsetCounts,
    OffsetRanges,
    ReplicationGap,
    joined,
    replication_gaps,
)
from oracles.translation import NO_RECORD, Case, answers, f_by_offset
from oracles.translation_check import growing, logs_of, origin_codes


def indexed(case: Case, page_runs: int | None = None) -> tuple[LogIndex, LogIndex]:
    source, target = LogIndex(), LogIndex()
    for _, source_found, target_found in growing(case, page_runs=page_runs):
        source, target = source_found or source, target_found
    return source, target


def replication_gap(origin: int, source: LogIndex, target: LogIndex, *bounds: int) -> ReplicationGap:
    """Of all parts; *bounds* are those of ``replication_gaps``."""
    parts = [each.below(10**6) for each in replication_gaps(origin, source, target, *bounds)]
    pending, skipped = joined([each.pending for each in parts]), joined([each.skipped for each in parts])
    return ReplicationGap(pending, skipped)


def cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    return [case for case in random_cases(random_world(rng), rng) if case.source is not None][:3]


def offsets(stretches: OffsetRanges) -> list[int]:
    return [n for start, length in zip(stretches.start, stretches.length) for n in range(start, start + length)]


def lacking(case: Case, origin: str, young_since_ms: int, low: int, high: int) -> tuple[list[int], list[int]]:
    """The definition: identities at the source that the target does not have, each at its first offset.

    Those that may still come, and those that will not.
    """
    there = {record.origin_offset for record in case.target.indexed if record.origin == origin}
    first: dict[int, int] = {}
    for record in case.source_records:
        if record.origin == origin and low <= record.origin_offset < high:
            first.setdefault(record.origin_offset, record.offset)
    pending, skipped = list[int](), list[int]()
    for number, offset in first.items():
        later = [each for each in case.target.indexed if each.origin == origin and each.origin_offset > number]
        is_young = bool(later) and later[0].indexed_at_ms > young_since_ms
        if number not in there:
            (pending if is_young or not later else skipped).append(offset)
    return sorted(pending), sorted(skipped)


@law(150)
@given(st.integers(0, 10**6), st.sampled_from([None, 1, 2, 4]))
def test_the_records_missing_at_the_target_are_those_of_the_definition(seed: int, page_runs: int | None) -> None:
    rng = random.Random(seed)
    for case in cases(seed):
        source, target = indexed(case, page_runs)
        for origin, code in origin_codes(case).items():
            low, high = rng.choice(((-NO_LIMIT, NO_LIMIT), sorted(rng.sample(range(30), 2))))
            bounds = rng.choice([NEVER_YOUNG, *(each.indexed_at_ms for each in case.target.indexed)]), low, high
            found = replication_gap(code, source, target, *bounds)
            if origin:
                said = offsets(found.pending), offsets(found.skipped)
                assert said == lacking(case, origin, *bounds)


def test_ranges_are_cut_and_counted_as_the_offsets_that_they_hold() -> None:
    rng = random.Random(3)
    for _ in range(50):
        held = sorted(rng.sample(range(20), rng.randint(1, 9)))
        ranges = joined([OffsetRanges(np.array([offset]), np.array([1])) for offset in held])
        ranges = joined([OffsetRanges(np.array([30]), np.array([5])), ranges])
        held += range(30, 35)
        asked = np.array(rng.choices(range(-1, 37), k=9))
        counts = OffsetCounts(asked)
        for part in (OffsetRanges.none(), ranges.from_offset(12), ranges.below(12)):
            counts.add(part)
        above = [sum(offset >= one for offset in held) for one in asked.tolist()]
        assert (counts.total, counts.first) == (len(held), held[0])
        assert ranges.count_from(asked).tolist() == counts.count_from(asked).tolist() == above
        with pytest.raises(ValueError, match="not asked"):
            counts.count_from(asked + 99)
        for one in asked.tolist():
            parts = ranges.below(one), ranges.from_offset(one)
            assert [offsets(part) for part in parts] == [[n for n in held if n < one], [n for n in held if n >= one]]
            assert all((part.length > 0).all() for part in parts)


@law(150)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([None, 1, 2, 4]))
def test_position_cost_is_what_the_records_between_say(seed: int, other: int, page_runs: int | None) -> None:
    for each in cases(seed):
        case = replace(each, target=replace(each.target, log_start=0))
        source, target = indexed(case, page_runs)
        young_since_ms = case.now_ms - case.hole_grace_ms
        committed = np.arange(case.source_frontier + 1)
        logs = logs_of(case, source, target)
        answer = translate(committed, *logs, Bounds(young_since_ms)).offset
        position = np.array(random.Random(other).choices(range(case.target.frontier + 1), k=len(committed)))
        found = position_cost(committed, answer, position, *logs, young_since_ms)
        needs = f_by_offset(case)
        best = answers(case, committed.tolist())
        for c, at, mine, repeats, skipped in zip(
            committed.tolist(), position.tolist(), best, found.repeats.tolist(), found.skipped.tolist()
        ):
            read_again = sum(NO_RECORD < need < c for need in needs[at:])
            assert mine.duplicates + repeats == read_again
            assert skipped == sum(need >= c for need in needs[:at])


@pytest.mark.parametrize("position", [0, 3, 9])
def test_an_empty_log_costs_nothing_at_any_position(position: int) -> None:
    source, target = PartitionLog.of(None, 0), PartitionLog(LogIndex(), 1)
    found = position_cost(np.array([4]), np.array([3]), np.array([position]), source, target, young_since_ms=0)
    assert (found.repeats.tolist(), found.skipped.tolist()) == ([0], [0])
