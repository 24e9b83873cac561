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
from offset_sync.translate.index.runs import Runs, at_most
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.replication_gap import OffsetRanges, ReplicationGap, joined, replication_gaps
from oracles.translation import NO_RECORD, Case, answers, f_by_offset
from oracles.translation_check import growing, logs_of, origin_codes


def indexed(case: Case, page_runs: int | None = None) -> tuple[LogIndex, LogIndex]:
    source, target = LogIndex(), LogIndex()
    for _, source_found, target_found in growing(case, page_runs=page_runs):
        source, target = source_found or source, target_found
    return source, target


def replication_gap(origin: int, source: LogIndex, target: LogIndex) -> ReplicationGap:
    parts = list(replication_gaps(origin, source, target))
    return ReplicationGap(joined([each.pending for each in parts]), joined([each.skipped for each in parts]))


def cases(seed: int) -> list[Case]:
    rng = random.Random(seed)
    return [case for case in random_cases(random_world(rng), rng) if case.source is not None][:3]


def offsets(stretches: OffsetRanges) -> list[int]:
    return [n for start, length in zip(stretches.start, stretches.length) for n in range(start, start + length)]


def lacking(case: Case, origin: str) -> tuple[list[int], list[int]]:
    """The definition: identities at the source that the target does not have, each at its first offset."""
    there = {record.origin_offset for record in case.target.indexed if record.origin == origin}
    first: dict[int, int] = {}
    for record in case.source_records:
        if record.origin == origin:
            first.setdefault(record.origin_offset, record.offset)
    newest = max(there, default=-1)
    gone = {number: offset for number, offset in first.items() if number not in there}
    pending = sorted(offset for number, offset in gone.items() if number > newest)
    return pending, sorted(offset for number, offset in gone.items() if number < newest)


@law(150)
@given(st.integers(0, 10**6), st.sampled_from([None, 1, 2, 4]))
def test_the_records_missing_at_the_target_are_those_of_the_definition(seed: int, page_runs: int | None) -> None:
    for case in cases(seed):
        source, target = indexed(case, page_runs)
        for origin, code in origin_codes(case).items():
            found = replication_gap(code, source, target)
            if origin:
                assert (offsets(found.pending), offsets(found.skipped)) == lacking(case, origin)
        everything = joined([replication_gap(code, source, target).pending for code in origin_codes(case).values()])
        assert offsets(everything) == sorted(set(offsets(everything)))
        asked = np.arange(-1, case.source_frontier + 2)
        assert everything.count_from(asked).tolist() == [
            sum(offset >= one for offset in offsets(everything)) for one in asked.tolist()
        ]
        assert all(
            offsets(everything.from_offset(one)) == [offset for offset in offsets(everything) if offset >= one]
            for one in (0, 3, case.source_frontier)
        )


def test_everything_is_missing_at_a_target_without_an_index() -> None:
    source = indexed(cases(1)[0])[0]
    for origin in source.origins:
        found = replication_gap(origin, source, LogIndex())
        assert offsets(found.skipped) == []
        assert offsets(found.pending) == sorted(set(offsets(found.pending)))
    assert isinstance(replication_gap(77, source, LogIndex()), ReplicationGap)


@law(150)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_another_position_costs_what_the_records_between_say(seed: int, other: int) -> None:
    for each in cases(seed):
        case = replace(each, target=replace(each.target, log_start=0))
        source, target = indexed(case)
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


@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_groups_that_are_ahead_are_counted_in_parts_as_in_one_go(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    for seed in range(30):
        for each in cases(seed):
            source, target = indexed(each)
            committed = np.arange(each.source_frontier + 1)
            logs, young = logs_of(each, source, target), each.now_ms - each.hole_grace_ms
            answer = translate(committed, *logs, Bounds(young)).offset
            position = np.array(random.Random(seed).choices(range(each.target.frontier + 1), k=len(committed)))
            found = []
            for size in (1 << 20, at_once):
                monkeypatch.setattr("offset_sync.translate.position_cost._AT_ONCE", size)
                found.append(position_cost(committed, answer, position, *logs, young))
            assert found[0].repeats.tolist() == found[1].repeats.tolist()
            assert found[0].skipped.tolist() == found[1].skipped.tolist()


@pytest.mark.parametrize("position", [0, 3, 9])
def test_an_empty_log_costs_nothing_at_any_position(position: int) -> None:
    source, target = PartitionLog.of(None, 0), PartitionLog(LogIndex(), 1)
    found = position_cost(np.array([4]), np.array([3]), np.array([position]), source, target, young_since_ms=0)
    assert (found.repeats.tolist(), found.skipped.tolist()) == ([0], [0])


def test_a_record_with_the_contents_of_some_copy_is_not_missing() -> None:
    source, target = LogIndex(), LogIndex()
    source.extend(Runs.of([0], [20], [0], [0], [1]), 20)
    # Originals 4 to 6 and 15 may be any of some copies; it is unknown which.
    target.note_unrecognised(Runs.of([4, 12], [3, 1], [0, 0], [4, 15], [1, 1]))
    target.extend(Runs.of([0, 4, 8], [2, 4, 4], [0, at_most(0), 0], [0, 6, 8], [1, 1, 1]), 13)
    found = replication_gap(0, source, target)
    assert offsets(found.skipped) == [2, 3, 7]
    assert offsets(found.pending) == [12, 13, 14, 16, 17, 18, 19]
