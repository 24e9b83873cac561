"""The records missing at the target, against plain loops over records, and what groups repeat, skip and leave."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import HOUR_MS, NOW_MS, log
from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import cases, generators, law
from offset_sync.model.values import ABSENT
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionMetadata
from offset_sync.translate.replication_gap import (
    NEVER_YOUNG,
    BothLogs,
    OffsetCounts,
    OffsetRanges,
    gone_of,
    is_outside,
    joined,
    log_end,
    measure,
    replication_gaps,
)
from oracles.status import missing, pending
from oracles.translation import Case
from oracles.translation_check import growing, logs_of, origin_codes

pages = st.none() | st.integers(1, 4)


def offsets(parts: list[OffsetRanges]) -> list[int]:
    ranges = joined(parts).below(10**6)  # further up is what was lost
    assert (ranges.length > 0).all()
    return [n for at, length in zip(ranges.start.tolist(), ranges.length.tolist()) for n in range(at, at + length)]


@law(800)
@given(cases, generators, pages)
def test_the_records_missing_at_the_target_are_those_of_the_definition(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    *_, (_, source, target) = growing(case, rng, page_runs)
    for origin, code in origin_codes(case).items() if source is not None else ():
        if origin:
            low, high = rng.choice((-NO_LIMIT, 2)), rng.choice((NO_LIMIT, 9))
            since_ms = rng.choice([NEVER_YOUNG, *(each.indexed_at_ms for each in case.target.indexed)])
            gaps = list(replication_gaps(code, source, target, since_ms, low, high))
            lacking, told = missing(case, origin), replace(case, hole_grace_ms=case.now_ms - since_ms)
            within = [each for each in lacking if low <= each.origin_offset < high]
            late = [each for each in within if each in pending(told, origin)]
            assert offsets([gap.pending for gap in gaps]) == sorted(each.offset for each in late)
            assert offsets([gap.skipped for gap in gaps]) == sorted(
                {each.offset for each in within if each not in late}
            )
            wanted = sorted(each.offset for each in lacking if each.origin_offset < target.frontier)
            assert offsets(list(gone_of(code, source, target, high=target.frontier))) == wanted


SOURCE = "X0 Y0 Z5 X3 Y1 X5 ? Z6 W0 X9 X10"
"""Y1 is deleted at the target, Z5 and X3 are skipped there, W0 and X9 are pending, X10 is not indexed at the source."""
TARGET = "Y0 . X0 Z6 X5 Y5"
KNOWN, LATER, GONE = ((SOURCE.replace(*words), TARGET) for words in (("?", "."), ("X0 Y0 Z5", ". . ."), ("W0", "Y9")))


COMMITS = (0, 4, 7, 11)
TIMES_MS = [1, 2, 2, 3, 3, 4, 4, 5, 5, 6]


def measured(
    *,
    texts: tuple[str, str] = (SOURCE, TARGET),
    offsets: tuple[Any, Any] = (2, 2),
    end: int = 11,
    young_since_ms: int = NEVER_YOUNG,
    times_ms: tuple[list[int], list[int]] | None = None,
    begins: tuple[int, int] = (0, 0),
    cuts: tuple[int | None, int | None] = (None, None),
    lost: int = NO_LIMIT,
    **changed: Any,
) -> tuple[dict[str, list[int]], OffsetCounts]:
    """What is counted for COMMITS, where *offsets* are wanted and present; *changed* is of the source's log.

    The target has lost its copy of X's record *lost*.
    """
    case = Case("X", log("X", texts[0], frontier=10), log("Y", texts[1], frontier=5))
    *_, (_, source, target) = growing(case)
    source.begin, target.begin = begins
    target.lose(Runs.of(*np.array([[0], [1], [origin_codes(case)["X"]], [lost], [0]])))
    for index in (source, target):
        let_go_of_all_but(index, 1, 2, KeptPages())
    for index, some_ms in zip((source, target), times_ms or ([], []), strict=True):
        if some_ms:
            index.times = TimeIndex()
            index.times.extend(np.arange(len(some_ms)), np.ones(len(some_ms), np.int64), *np.array([some_ms] * 2))
    here, there = logs_of(case, source, target)
    here = replace(here, metadata=here.metadata._replace(cut_at=cuts[0], **changed))
    there = replace(there, metadata=there.metadata._replace(cut_at=cuts[1]))
    logs = BothLogs(here, there, end, young_since_ms, 0, is_unstamped=times_ms is not None)
    counts, late = measure(logs, np.array(COMMITS), *(np.full(len(COMMITS), offset) for offset in offsets))
    return {name: column.tolist() for name, column in vars(counts).items()}, late


def test_each_missing_record_counts_for_the_commits_that_have_not_read_it() -> None:
    counts, late = measured()
    assert counts == {
        "repeats": [0] * 4,
        "skipped": [0] * 4,
        "unread": [11, 7, 4, 0],
        "pending": [3, 3, 3, 0],  # W0, X9, X10
        "not_mirrored": [4, 3, 2, 0],  # X3, the unreadable one, X9, X10
        "deleted": [2, 1, 0, 0],  # Z5, Y1
        "unindexed": [2] * 4,
    }
    assert (late.total, late.first) == (1, 9), "no mirror is known to copy W0"
    counts, late = measured(texts=(SOURCE, "Y0 . . Z6 ."))
    assert (late.total, late.first, counts["unindexed"]) == (4, 0, [1] * 4)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"end": 9}, {"unread": [9, 5, 2, 0], "pending": [1, 1, 1, 0], "not_mirrored": [2, 1, 0, 0]}),
        ({"end": ABSENT}, {"unread": [10, 6, 3, 0], "pending": [2, 2, 2, 0], "unindexed": [1] * 4}),
        # What the source has deleted may be at a later place, as one record there is unknown.
        ({"log_start": 5}, {"unread": [6, 6, 4, 0], "not_mirrored": [4, 3, 2, 0], "deleted": [2, 1, 0, 0]}),
        ({"log_start": 5, "texts": KNOWN}, {"unread": [5, 5, 4, 0], "not_mirrored": [2, 2, 2, 0], "deleted": [0] * 4}),
        ({"begins": (3, 0), "texts": LATER}, {"unread": [11, 7, 4, 0], "pending": [6, 3, 3, 0]}),
        ({"cuts": (5, None)}, {"not_mirrored": [7, 6, 4, 0], "pending": [6, 6, 4, 0], "unindexed": [7] * 4}),
        ({"young_since_ms": NOW_MS - 2 * HOUR_MS}, {"pending": [5, 3, 3, 0], "deleted": [1, 1, 0, 0]}),
        ({"offsets": (2, [2, 9, 4, 3])}, {"repeats": [0, -1, -1, -1], "skipped": [0, 3, 1, 0]}),
        ({"offsets": (4, [2, 2, 2, 3]), "begins": (0, 3)}, {"repeats": [3, 3, 3, 1]}),
        ({"lost": 3}, {"not_mirrored": [4, 3, 2, 0]}),
        ({"texts": GONE, "frontier": 10}, {"deleted": [3, 2, 1, 0]}),
        ({"texts": GONE, "frontier": 8}, {"deleted": [2, 1, 0, 0]}),
        ({"frontier": 10, "cuts": (None, 1)}, {"deleted": [1, 1, 0, 0], "not_mirrored": [6, 4, 2, 0]}),
        ({"offsets": ([0, 3, 3, 4], [5, 5, 9, 5])}, {"repeats": [0, 0, -1, -1], "skipped": [4, 2, 2, 0]}),
        ({"offsets": ([ABSENT, 2, ABSENT, 2], [4, ABSENT, ABSENT, 2])}, {"repeats": [0] * 4, "skipped": [0] * 4}),
        # Without headers, those newer than all at the target.
        ({"times_ms": (TIMES_MS, [1, 5, 3])}, {"pending": [2, 2, 2, 0], "not_mirrored": [2, 2, 2, 0]}),
        ({"times_ms": (TIMES_MS, [6])}, {"pending": [1, 1, 1, 0]}),
        ({"times_ms": (TIMES_MS, [])}, {"pending": [11, 7, 4, 0]}),
    ],
)
def test_what_changes_the_counts(changed: dict[str, Any], told: dict[str, list[int]]) -> None:
    counts, _ = measured(**changed)
    assert {name: counts[name] for name in told} == told


def test_a_log_without_its_topic_has_no_end_and_an_offset_at_either_end_is_in_it() -> None:
    known = PartitionMetadata("id", log_start=3, log_end=7)
    assert [log_end(each) for each in (known, known._replace(topic_id=None), None)] == [7, ABSENT, ABSENT]
    assert is_outside(known, np.array([ABSENT, 0, 2, 3, 7, 8])).tolist() == [False, True, True, False, False, True]


def test_ranges_from_an_offset_on() -> None:
    cut = OffsetRanges(np.array([1, 5, 9]), np.array([2, 3, 1])).from_offset(6)
    assert (cut.start.tolist(), cut.length.tolist()) == ([6, 9], [2, 1])
