"""Read lists against brute force by identities and by contents: nothing unread is on one, and all that is known is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import cases, generators, law
from offset_sync.model.values import ABSENT
from offset_sync.translate import read_list as read_lists
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.read_list import FoundList, count_listed, pending, read_list
from offset_sync.translate.replication_gap import OffsetRanges
from oracles.read_list import missing_at_target, on_the_list, ranges_of
from oracles.translation import Case
from oracles.translation_check import every_commit, growing, logs_of, origin_codes

EPOCH = 7
X, Y, Z = 0, 1, 2


def ranges(found: FoundList) -> list[tuple[int, int]]:
    told = found.read_list.ranges
    return [(start, start + length) for start, length in zip(told.start.tolist(), told.length.tolist())]


def logs_at_any_time(
    case: Case, rng: random.Random, page_runs: int | None
) -> Iterator[tuple[Case, PartitionLog, PartitionLog]]:
    """Yield the case as far as it is indexed, after each batch, and both logs; of pages let go as the indexes grow."""
    for known, source, target in growing(case, rng, page_runs):
        yield known, *logs_of(known, source, target)


@law(700)
@given(cases, generators, st.none() | st.integers(1, 5))
def test_on_a_list_is_what_brute_force_finds_at_any_time_also_where_pages_were_let_go(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        records = {each.offset for each in known.target.indexed}
        for committed in every_commit(known):
            start = rng.choice((0, rng.randint(0, known.target.frontier + 2)))
            found = read_list(committed, start, source, target, leader_epoch=EPOCH)
            wanted = on_the_list(known, committed, start)
            assert ranges(found) == ranges_of(wanted, records)
            assert (int(found.records.sum()), found.left_out) == (len(wanted), 0)
            assert (found.read_list.start, found.read_list.leader_epoch) == (start, EPOCH)
            assert found.read_list.end == (ranges(found)[-1][1] if wanted else start)


@law(300)
@given(cases, generators, st.none() | st.integers(1, 4))
def test_records_that_consumers_skip_by_a_list_are_counted_as_what_is_on_it(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        first, committed = sorted(rng.sample(every_commit(known), 2))
        low, high = sorted(rng.randint(0, known.target.frontier + 2) for _ in range(2))
        skipped = OffsetRanges(np.array([first]), np.array([committed - first]))
        wanted = set(on_the_list(known, committed, low)) - set(on_the_list(known, first, low))
        assert count_listed(skipped, (low, high), source, target) == sum(offset < high for offset in wanted)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"topic_id": None}, {}),
        ({"topic_id": "another"}, {}),
        ({"cut_at": 3}, {}),
        ({"frontier": 6}, {}),
        ({"log_end": 4, "frontier": 4}, {}),
        ({"is_missing": True}, {}),
        ({}, {"topic_id": "another"}),
        ({}, {"cut_at": 3}),
        ({}, {"is_cut_somewhere": True}),
    ],
)
def test_of_logs_that_are_withheld_or_cut_and_of_a_commit_beyond_the_end_there_is_no_list(
    source: dict[str, object], target: dict[str, object]
) -> None:
    said, logs = PartitionMetadata("id", 0, 5, {"id"}, 5), (LogIndex(), LogIndex())
    for each in logs:
        each.extend(Runs.of([0], [5], [X], [0], [0]), 5)
    here, there = PartitionLog(logs[0], X, said), PartitionLog(logs[1], Y, said)
    assert ranges(read_list(5, 0, here, there, leader_epoch=0)) == [(0, 5)]
    found = read_list(5, 2, here, there, leader_epoch=ABSENT).read_list
    assert (found.start, found.leader_epoch, len(found.ranges.start)) == (2, 0, 0)
    here, there = (replace(log, metadata=said._replace(**each)) for log, each in ((here, source), (there, target)))
    assert ranges(read_list(5, 0, here, there, leader_epoch=EPOCH)) == []


def test_no_more_ranges_are_held_than_a_text_can_hold_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_lists, "MOST_RANGES", 3)
    source, target = log("X", "X0:40"), log("Y", " ".join(f"X{n} X{n + 1} Y{3 * n // 2 + 2}" for n in range(0, 20, 2)))
    for page_runs in (None, 1, 2, 3):
        *_, (case, here, there) = growing(Case("X", source, target), None, page_runs)
        if page_runs:
            let_go_of_all_but(there, 1, page_runs, KeptPages())
        found = read_list(19, 0, *logs_of(case, here, there), leader_epoch=EPOCH)
        assert (ranges(found), found.records.tolist(), found.left_out) == ([(0, 2), (3, 5), (6, 8)], [2, 2, 2], 13)


@law(400)
@given(cases, generators, st.none() | st.integers(1, 4))
def test_what_is_still_to_come_is_what_brute_force_finds(case: Case, rng: random.Random, page_runs: int | None) -> None:
    codes = origin_codes(case)
    for known, source, target in logs_at_any_time(case, rng, page_runs):
        for committed in every_commit(known):
            wanted = missing_at_target(known, committed, known.target.cluster)
            found = pending(committed, source, target, known.now_ms - known.hole_grace_ms)
            assert {origin: ranges.total for origin, ranges in found.items()} == {
                codes[origin]: count for origin, count in wanted.items()
            }
