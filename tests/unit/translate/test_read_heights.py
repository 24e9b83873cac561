"""How far groups have read each origin, by a commit's place in the source's log; judged record by record."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.translate import read_window
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.read_heights import ReadHeights

OWN, OTHERS = 0, (1, 2)
Records = list[tuple[int, int, int]]
"""Offset, origin and origin offset of each."""


def some_log(rng: random.Random, *, in_order: bool) -> Records:
    """A log of runs with gaps; out of order some restart a little lower."""
    records, offset, number = Records(), 0, dict.fromkeys((OWN, *OTHERS), 0)
    for _ in range(40):
        origin = rng.choice((OWN, *OTHERS))
        if not in_order and rng.random() < 0.2:
            number[origin] = max(0, number[origin] - rng.randint(1, 6))
        offset += rng.choice((0, 0, 3))
        for _ in range(rng.randint(1, 4)):
            records.append((offset, origin, offset if origin == OWN else number[origin]))
            offset, number[origin] = offset + 1, number[origin] + 1
        number[origin] += rng.choice((0, 0, 2))
    return records


def indexed(records: Records, page_runs: int, seen_ms: Sequence[int] = ()) -> LogIndex:
    """The index of *records*, a run each, in pages of so many but for the last one."""
    index = LogIndex()
    offset, origin, number = map(list, zip(*records, strict=True))
    index.extend(Runs.of(offset, [1] * len(offset), origin, number, seen_ms or [0] * len(offset)), offset[-1] + 1)
    let_go_of_all_but(index, 1, page_runs, KeptPages())
    return index


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("page_runs", [1, 3, 7])
@pytest.mark.parametrize("seed", range(8))
def test_heights_are_the_records_below_a_commit_and_the_others(seed: int, page_runs: int, *, in_order: bool) -> None:
    records = some_log(random.Random(seed), in_order=in_order)
    commits = np.arange(records[-1][0] + 4)
    heights = ReadHeights(commits, PartitionLog(indexed(records, page_runs), OWN), 1, (OWN, *OTHERS))
    heights.look_into(np.ones(len(commits), np.bool_))
    undecided = 0
    for origin in OTHERS:
        for commit, safe, most in zip(commits.tolist(), heights.safe[origin], heights.most[origin], strict=True):
            below = [n for offset, of, n in records if of == origin and offset < commit]
            above = [n for offset, of, n in records if of == origin and offset >= commit]
            assert most == max(below, default=-1)
            assert safe == min(most, min(above, default=most + 1) - 1)
            undecided += int(safe != most)
    assert heights.safe[OWN].tolist() == (commits - 1).tolist()
    assert (undecided == 0) is in_order
    assert bool(heights.decided()[: records[-1][0] + 2].all()) is in_order
    assert not heights.decided()[records[-1][0] + 2 :].any()


def test_where_the_source_is_in_order_no_page_of_the_target_is_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = some_log(random.Random(2), in_order=True), Records()
    for offset, origin, number in sorted(source, key=lambda each: (each[0] // 9, each[1], each[2])):
        target.append((len(target), origin, number if origin != OWN else offset))
    logs = PartitionLog(indexed(source, 5), OWN), PartitionLog(indexed(target, 5), 1)
    commits = np.arange(source[-1][0] + 1)
    expected = translate(
        commits, *(PartitionLog(indexed(each, 1 << 9), o) for each, o in ((source, OWN), (target, 1))), Bounds(1)
    )
    monkeypatch.setattr(read_window, "cut_pieces", None)
    found = translate(commits, *logs, Bounds(1))
    assert found.offset.tolist() == expected.offset.tolist()
    assert found.duplicates.tolist() == expected.duplicates.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_a_hole_is_open_where_the_first_greater_number_is_young(seed: int) -> None:
    rng = random.Random(seed)
    records = some_log(rng, in_order=rng.random() < 0.5)
    young = {number for number in range(0, len(records), 4) if rng.random() < 0.3}
    seen_ms = [2 if number - number % 4 in young else 0 for number in range(len(records))]
    heights = ReadHeights(np.zeros(1, np.int64), PartitionLog(indexed(records, 4, seen_ms), OWN), 1, (OWN, *OTHERS))
    for origin in OTHERS:
        mine = [(row, number) for row, (_, of, number) in enumerate(records) if of == origin]
        for hole in set(range(max(number for _, number in mine))) - {number for _, number in mine}:
            witness = next(row for row, number in mine if number > hole)
            if seen_ms[witness] == 2:
                assert heights.is_open(origin, np.array([hole]), np.array([hole])).tolist() == [True]
    no = np.zeros(1, np.int64)
    assert heights.is_open(OWN, no, no + 99).tolist() == [False]
    assert heights.is_open(OTHERS[0], no + 999, no + 999).tolist() == [False]


def test_numbers_that_a_young_page_was_the_first_to_pass_are_open_and_others_are_not() -> None:
    index = LogIndex()
    index.extend(Runs.of([0, 1, 2, 3], [1, 1, 1, 1], [1, 0, 1, 0], [5, 1, 9, 3], [0, 0, 9, 0]), 4)
    let_go_of_all_but(index, 1, 1, KeptPages())
    heights = ReadHeights(np.array([4]), PartitionLog(index, OWN), 1, (OWN, 1))
    number = np.arange(12)
    assert heights.is_open(1, number, number).tolist() == [5 <= each <= 9 for each in number.tolist()]


def heights_of(commit: int, runs: Runs, page_runs: int, lost: Runs | None = None) -> tuple[int, int, bool]:
    """Return safe and most of origin 1 for one commit in a log of X, and whether these decide."""
    index = LogIndex()
    if lost is not None:
        index.lose(lost)
    index.extend(runs, int(runs.end[-1]))
    let_go_of_all_but(index, 1, page_runs, KeptPages())
    heights = ReadHeights(np.array([commit]), PartitionLog(index, OWN), 1, (OWN, 1))
    heights.look_into(np.ones(1, np.bool_))
    return int(heights.safe[1][0]), int(heights.most[1][0]), bool(heights.decided()[0])


def test_what_a_truncation_has_removed_is_not_read() -> None:
    runs, lost = Runs.of([0, 1], [1, 3], [1, 1], [0, 2], [0, 0]), Runs.of([1], [1], [1], [1], [0])
    assert heights_of(3, runs, 2) == (3, 3, True)
    assert heights_of(3, runs, 2, lost=lost) == (0, 3, False)


def test_nothing_is_read_for_sure_below_a_record_that_may_be_any() -> None:
    runs = Runs.of([0, 4, 5], [4, 1, 1], [1, UNKNOWN_ORIGIN, 1], [0, 0, 9], [0, 0, 0])
    assert [heights_of(commit, runs, 2)[:2] for commit in (3, 4, 5)] == [(-1, 2), (-1, 3), (3, 3)]
