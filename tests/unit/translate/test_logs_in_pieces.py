"""What asks about the whole of long logs holds few pages of them at a time."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.long_logs import FEW, RUNS, Mirrored, disordered
from fakes.pages import CountedPages, let_go_of_all_but
from generators.hypothesis_strategies import law
from offset_sync.model.values import ABSENT
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index_retention import IndexedLog, UnsealedRows, begins
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.replication_gap import copies_between, deleted_of, joined
from offset_sync.translate.strategies import answer_by_header


def costs(given_logs: Mirrored) -> None:
    source, target = given_logs.logs
    ends = np.array([0, 0, RUNS]), np.array([0, 5, RUNS]), np.array([RUNS, RUNS, 0])
    found = position_cost(*ends, PartitionLog(source, 0), PartitionLog(target, 1), NO_LIMIT)
    assert (found.repeats.tolist(), found.skipped.tolist()) == ([0, 0, RUNS], [RUNS, RUNS - 5, 0])


def headers(given_logs: Mirrored) -> None:
    found = answer_by_header(np.arange(RUNS + 1), given_logs.logs[0], target_origin=1, look_back=3)
    assert found[:4].tolist() == [ABSENT, 0, 1, 1]
    assert found.shape == (RUNS + 1,)


ROWS = UnsealedRows(np.arange(10_000), np.zeros(10_000, np.int64))
"""A row at every offset, all old."""


def retention(given_logs: Mirrored) -> None:
    logs = [IndexedLog(log, code, RUNS - 2, NO_LIMIT, ROWS) for code, log in enumerate(given_logs.logs)]
    found = begins(logs, old_before_ms=1)
    assert all(RUNS - 10 < one <= RUNS - 2 for one in found), found


@pytest.mark.parametrize("ask", [costs, headers, retention])
def test_few_pages_of_a_log_are_held_at_a_time(ask: Callable[[Mirrored], None]) -> None:
    logs = Mirrored()
    ask(logs)
    assert max(len(set(pages.asked)) for pages in logs.pages) > 60
    assert logs.most() <= FEW


@law(300)
@given(st.integers(0, 2**32), st.sampled_from([None, 1, 2, 4]))
def test_copies_are_counted_once_however_they_came(seed: int, page_runs: int | None) -> None:
    rng = random.Random(seed)
    index = disordered(rng, 0)
    held = {
        number
        for run in zip(index.runs.origin, index.runs.origin_start, index.runs.length, strict=True)
        if run[0] == 1
        for number in range(run[1], run[1] + run[2])
    }
    if page_runs:
        let_go_of_all_but(index, 1, page_runs, CountedPages())
    low, high = (np.array([rng.randint(0, 16) for _ in range(9)]) for _ in range(2))
    expected = [len(held & set(range(*each))) for each in zip(low, high, strict=True)]
    assert copies_between(1, index, low, high).tolist() == expected


@pytest.mark.parametrize("page_runs", [None, 1])
def test_what_the_target_has_not_indexed_yet_is_not_deleted_there(page_runs: int | None) -> None:
    source, target = LogIndex(), LogIndex()
    source.extend(Runs.of([0, 9, 12, 20], [2, 3, 1, 4], [1, 1, 0, 1], [0, 2, 12, 5], [0] * 4), 24)
    target.extend(Runs.of([0, 2, 4], [1, 1, 2], [1, 0, 1], [0, 70, 4], [0] * 3), 6)
    for index in (source, target) if page_runs else ():
        let_go_of_all_but(index, 1, page_runs or 1, CountedPages())
    found = joined(list(deleted_of(1, source, target)))
    offsets = [n for first, length in zip(found.start, found.length, strict=True) for n in range(first, first + length)]
    assert offsets == [1, 9, 10]  # 1, 2 and 3 at the target; 6 to 8 it may have
