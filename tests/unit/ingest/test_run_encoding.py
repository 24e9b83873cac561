"""Records to runs: what a run is, and the laws that cutting and joining keep."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from offset_sync.ingest.run_builder import MALFORMED_CODE, RunColumns, cut_runs, join_runs

Record = tuple[int, int, int, int]
"""(offset, timestamp, origin code, origin offset)"""
LARGEST = 2**63 - 1


def cut(records: list[Record], *, split: bool = False) -> RunColumns:
    offset, timestamp, code, origin_offset = np.array(records, np.int64).reshape(-1, 4).T
    return cut_runs(offset, timestamp, code.astype(np.int32), origin_offset, split)


def rows(runs: RunColumns) -> list[tuple[int, ...]]:
    columns = [getattr(runs, field.name).tolist() for field in fields(RunColumns)]
    return list(zip(*columns, strict=True))


def expand(runs: RunColumns) -> list[tuple[int, int, int]]:
    return [
        (start + step, code, origin_start + step)
        for start, length, code, origin_start, _, _ in rows(runs)
        for step in range(length)
    ]


# What changes from one record to the next, mostly nothing: (offset, origin offset, origin code, timestamp).
CHANGES = [(1, 1, 0, 0)] * 12 + [(2, 1, 0, 0), (2, 2, 0, 1), (1, 0, 0, 0), (1, -3, 0, 0), (1, 1, 0, 1), (1, 1, 0, -5)]
CHANGES += [(1, 1, 1, 0), (1, 2, 1, 7), (1, 1, 2, 0)]
CODES = (0, 1, MALFORMED_CODE)


def written(changes: list[tuple[int, int, int, int]]) -> list[Record]:
    """Records in log order; every change is from the record before."""
    places = accumulate([(3, 100, 0, 50), *changes], lambda at, step: tuple(map(sum, zip(at, step))))
    return [(offset, timestamp, CODES[code % 3], origin_offset) for offset, origin_offset, code, timestamp in places]


logs = st.one_of(st.just([]), st.lists(st.sampled_from(CHANGES), max_size=24).map(written))


def test_a_run_ends_where_offset_origin_or_origin_offset_does_not_go_on() -> None:
    log = [(7, 1, 0, 100), (8, 3, 0, 101), (9, 2, 0, 102), (10, 4, 1, 103), (11, 4, 1, 104)]
    log += [(13, 5, 1, 105), (14, 5, 1, 107)]
    assert rows(cut(log)) == [
        (7, 3, 0, 100, 1, 3),
        (10, 2, 1, 103, 4, 4),
        (13, 1, 1, 105, 5, 5),
        (14, 1, 1, 107, 5, 5),
    ]


def test_where_asked_a_run_ends_where_the_timestamp_changes_too() -> None:
    log = [(0, 1, 0, 0), (1, 1, 0, 1), (2, 2, 0, 2), (3, 1, 0, 3)]
    assert len(cut(log)) == 1
    assert rows(cut(log, split=True)) == [(0, 2, 0, 0, 1, 1), (2, 1, 0, 2, 2, 2), (3, 1, 0, 3, 1, 1)]


def test_records_sent_again_begin_a_new_run() -> None:
    log = [(place, 1, 0, number) for place, number in enumerate([5, 6, 7, 5, 6, 7])]
    assert [row[:4] for row in rows(cut(log))] == [(0, 3, 0, 5), (3, 3, 0, 5)]


def test_malformed_records_in_a_row_are_one_run_and_never_join_others() -> None:
    log = [(4, 1, 0, 4), (5, 1, MALFORMED_CODE, 5), (6, 1, MALFORMED_CODE, 6), (7, 1, 0, 7)]
    assert [row[:4] for row in rows(cut(log))] == [(4, 1, 0, 4), (5, 2, MALFORMED_CODE, 5), (7, 1, 0, 7)]


def test_the_largest_offset_of_all_neither_fails_nor_joins() -> None:
    log = [(0, 1, 0, LARGEST - 1), (1, 1, 0, LARGEST), (2, 1, 0, 0)]
    assert [row[:4] for row in rows(cut(log))] == [(0, 2, 0, LARGEST - 1), (2, 1, 0, 0)]
    with np.errstate(over="raise"):
        assert rows(join_runs(cut(log[:2]), cut(log[2:]))) == rows(cut(log))


@settings(max_examples=200)
@given(logs, st.lists(st.integers(0, 25), max_size=6), st.booleans())
def test_batch_borders_leave_no_trace_wherever_they_fall(log: list[Record], borders: list[int], split: bool) -> None:
    edges = [0, *sorted(borders), 25]
    parts = [cut(log[start:end], split=split) for start, end in pairwise(edges)]
    joined = reduce(lambda done, part: join_runs(done, part, split), parts)
    assert rows(joined) == rows(cut(log, split=split))
    assert [getattr(joined, field.name).dtype for field in fields(RunColumns)] == [
        getattr(cut([]), field.name).dtype for field in fields(RunColumns)
    ]


@settings(max_examples=200)
@given(logs, st.booleans())
def test_runs_give_back_their_records_and_no_run_could_be_longer(log: list[Record], split: bool) -> None:
    runs = cut(log, split=split)
    assert expand(runs) == [(offset, code, origin_offset) for offset, _, code, origin_offset in log]
    for before, after in pairwise(rows(runs)):
        start, length, code, origin_start, _, newest = before
        goes_on = after[:1] + after[2:4] == (start + length, code, origin_start + length)
        assert not (goes_on and (not split or newest == after[4]))


@settings(max_examples=200)
@given(logs)
def test_a_run_knows_its_least_and_greatest_timestamp(log: list[Record]) -> None:
    at = {offset: timestamp for offset, timestamp, _, _ in log}
    for start, length, _, _, least, greatest in rows(cut(log)):
        inside = [at[offset] for offset in range(start, start + length)]
        assert (least, greatest) == (min(inside), max(inside))
