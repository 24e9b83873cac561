"""The upper bound of the duplicates, against the true contents of the logs."""

from __future__ import annotations

import numpy as np
import pytest

from builders.logs import NOW_MS, log
from generators.unreadable_headers import Unreadable, unreadable_histories
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from oracles.translation import Answer, Case
from oracles.translation_check import ask, growing


def answered(case: Case, commits: list[int]) -> list[Answer]:
    *_, (_, source, target) = growing(case)
    return ask(case, commits, source, target)


def undercounts(history: Unreadable) -> list[tuple[int, Answer, int]]:
    source = history.case.source
    assert source is not None
    commits = list(range(source.log_end + 1))
    found = [
        (committed, answer, history.read_again(committed, answer.clamped_offset))
        for committed, answer in zip(commits, answered(history.case, commits), strict=True)
    ]
    return [each for each in found if each[2] > each[1].duplicates_at_most]


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_whatever_headers_cannot_be_read_the_bound_is_never_too_small(first: int) -> None:
    asked = 0
    for seed in range(first, first + 50):
        for history in unreadable_histories(seed):
            assert undercounts(history) == [], seed
            asked += 1
    assert asked > 100


def test_the_histories_need_the_bound() -> None:
    needed = 0
    for seed in range(40):
        for history in unreadable_histories(seed):
            source = history.case.source
            assert source is not None
            commits = list(range(source.log_end + 1))
            for committed, answer in zip(commits, answered(history.case, commits), strict=True):
                needed += history.read_again(committed, answer.clamped_offset) > answer.duplicates
    assert needed > 500


def test_a_record_whose_headers_the_source_could_not_read_may_be_any_missing_one() -> None:
    source, target = log("X", "X0 ? X2"), log("Y", "X0 Y1 X2")
    found = answered(Case("X", source, target), [0, 1, 2, 3])
    assert [(answer.offset, answer.duplicates, answer.duplicates_at_most) for answer in found] == [
        (0, 0, 0),
        (1, 0, 0),
        (1, 0, 1),
        (1, 1, 2),
    ]


@pytest.mark.parametrize("source", ["X0 ? X2 X3 X4 Y1", "X0 ? X2 X3 X4 Y5"], ids=["sent again", "a hole"])
def test_of_a_record_that_the_source_could_not_read_the_target_may_hold_several_copies(source: str) -> None:
    (found,) = answered(Case("X", log("X", source), log("Y", "X0 Y1 X2 Y1"), now_ms=NOW_MS), [3])
    assert (found.offset, found.duplicates, found.duplicates_at_most) == (1, 1, 3)


def test_of_an_unreadable_record_each_unknown_copy_may_be_one_more() -> None:
    (found,) = answered(Case("X", log("X", "X0 ? X2"), log("Y", "X0 Z5 Z5 Z6"), now_ms=NOW_MS), [3])
    assert (found.offset, found.duplicates, found.duplicates_at_most) == (1, 0, 2)


def test_what_a_cut_has_taken_may_have_been_read_before() -> None:
    source, target = LogIndex(), LogIndex()
    source.lose(Runs.of([1], [1], [2], [5], [0]))
    source.extend(Runs.of([0], [1], [0], [0], [0]), 2)
    target.extend(Runs.of([0, 1], [1, 2], [0, 2], [0, 5], [0, 0]), 3)
    found = translate(np.array([2], np.int64), PartitionLog(source, 0), PartitionLog(target, 1), Bounds(1))
    assert (found.offset.tolist(), found.duplicates_at_most.tolist()) == ([1], [1])
