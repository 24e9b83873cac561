"""A log that was cut and has grown again has two records of one offset: the index notices, and translates nothing."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.model.values import State
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition import translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata, last_known

Row = tuple[int, int, int, int]  # start, length, origin, origin start


def runs_of(*rows: Row) -> Runs:
    start, length, origin, origin_start = zip(*rows) if rows else ((), (), (), ())
    return Runs.of(start, length, origin, origin_start, np.zeros(len(rows)))


def index_of(*batches: list[Row], begin: int = 0, frontier: int = 0) -> LogIndex:
    index = LogIndex(begin)
    for batch in batches:
        index.extend(runs_of(*sorted(batch)), frontier)
    return index


KNOWN: list[Row] = [(0, 5, 1, 100), (5, 5, 1, 105), (12, 8, 2, 7)]


@pytest.mark.parametrize(
    "again",
    [
        [],
        KNOWN,
        [(0, 10, 1, 100)],
        [(3, 4, 1, 103), (13, 1, 2, 8)],
        [(12, 20, 2, 7)],  # says more, beyond what was known
        [(20, 5, 1, 110)],
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_what_repeats_or_continues_the_index_is_no_contradiction(again: list[Row], at_once: bool) -> None:
    index = index_of(KNOWN + again) if at_once else index_of(KNOWN, again)
    assert not index.is_contradicted


@pytest.mark.parametrize(
    "other",
    [
        [(0, 5, 1, 101)],  # another record of the same origin
        [(0, 5, 2, 100)],  # another origin
        [(19, 9, 2, 15)],  # partly below the frontier
        [(0, 40, 1, 100)],
        [(0, 5, -1, 0)],  # unreadable now
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_another_record_at_a_known_offset_is_a_contradiction_for_ever(other: list[Row], at_once: bool) -> None:
    index = index_of(KNOWN + other) if at_once else index_of(KNOWN, other)
    assert index.is_contradicted
    index.extend(runs_of((60, 5, 1, 400)), 65)
    assert index.is_contradicted


@pytest.mark.parametrize("other", [[(8, 4, 1, 108)], [(10, 1, 1, 110)]])
def test_a_record_where_all_had_been_read_and_found_empty_is_a_contradiction(other: list[Row]) -> None:
    assert index_of(KNOWN, other).is_contradicted
    assert index_of([], other, frontier=12).is_contradicted


@pytest.mark.parametrize("side", ["source", "target", "source that cannot be asked"])
def test_a_contradicted_log_on_either_side_withholds(side: str) -> None:
    sound, broken = index_of([(0, 10, 0, 0)]), index_of([(0, 10, 0, 0)], [(0, 12, 0, 5)])
    source, target = (sound, broken) if side == "target" else (broken, sound)
    here, there = (PartitionMetadata("id", 0, 20, frozenset({"id"}), index.frontier) for index in (source, target))
    if "asked" in side:
        here = last_known({"id"})
    logs = PartitionLog(source, 0, here), PartitionLog(target, 1, there)
    found = translate_partition(np.array([4]), [None], *logs, Bounds(young_since_ms=0))
    assert [State(code) for code in found.state] == [State.LOG_TRUNCATED]
    assert found.wanted.tolist() == [-1]
