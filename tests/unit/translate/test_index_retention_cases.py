"""Retention of runs, worked out by hand: what each log has to keep, and for whom."""

from __future__ import annotations

import random

import numpy as np

from builders.index_rows import begin, edge, run
from builders.logs import NOW_MS, log
from generators.retention import Indexes, place_of, rows_of
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index_retention import IndexedLog, UnsealedRows
from oracles.translation import Log


def kept(*logs: Log, **commits: list[int]) -> dict[str, int]:
    """Where each index begins, with a row per record; all of it was indexed long ago."""
    rows = {}
    for each in logs:
        place = place_of(each.cluster)
        records = [
            run(r.offset, 1, r.origin, r.origin_offset, place=place, seen_ms=r.indexed_at_ms) for r in each.records
        ]
        rows[each.cluster] = [begin(0, place=place), *records, edge(each.frontier, place=place)]
    by_name = {each.cluster: each for each in logs}
    held = {name: commits.get(name, []) for name in by_name}
    return Indexes(by_name, rows, held, NOW_MS, 0).begins(NOW_MS)


def test_the_target_keeps_records_that_a_group_at_the_source_has_not_read() -> None:
    source, target = log("X", "X0:9", log_start=6), log("Y", ". . X0:9", log_start=10)
    assert kept(source, target) == {"X": 6, "Y": 8}
    assert kept(source, target, X=[3]) == {"X": 3, "Y": 5}


def test_the_source_keeps_the_place_of_the_newest_record_of_an_origin_that_the_target_still_holds() -> None:
    source = log("X", "Z0:3 X3:9", log_start=6)
    assert kept(source, log("Y", "Z0:3 . X3:9", log_start=8)) == {"X": 6, "Y": 7}
    assert kept(source, log("Y", "? Z0:3 X3:9", log_start=8)) == {"X": 2, "Y": 0}


def test_rows_do_not_show_how_a_log_was_read() -> None:
    both = {"X": log("X", "X0:30", log_start=20), "Y": log("Y", "X0:30", log_start=20)}
    for seed in range(20):
        rows = {name: rows_of(each, random.Random(seed)) for name, each in both.items()}
        found = Indexes(both, rows, {"X": [], "Y": []}, NOW_MS, 0).begins(NOW_MS)
        for name, at in found.items():
            starts = {row["start_offset"] for row in rows[name]}
            assert at == max(start for start in starts if start <= min(20, *(found.values(), 20)[1:]))


def test_the_source_keeps_the_first_place_of_records_that_the_mirror_has_sent_again() -> None:
    target = log("Y", "? Z0:3 X3:9", log_start=8)
    assert kept(log("X", "Z0:3 X3:9 X9", log_start=6), target) == {"X": 2, "Y": 0}
    assert kept(log("X", "Z0:3 X3:9 Z1", log_start=6), target) == {"X": 0, "Y": 0}


def test_what_has_come_since_the_rows_were_read_is_too_young_to_go() -> None:
    index = LogIndex()
    index.extend(Runs.of([0, 10, 20], [10] * 3, [0, 1, 0], [0, 0, 20], [1, 2, 900]), 30)
    one = IndexedLog(index, 0, 30, 30, UnsealedRows(np.array([0, 10]), np.array([1, 2])))
    assert (one.floor(1_000), one.floor(900), one.floor(2)) == (30, 20, 10)


def test_the_target_keeps_the_last_record_to_its_log_start_that_is_read_after_all_before_it() -> None:
    # Or a commit of 5, below all that can come, would have read X5, and be answered above the log start.
    source, target = log("X", "Z0 . . . . . X6:10", log_start=6), log("Y", "X5 X4 X5 X6:10", log_start=1)
    assert kept(source, target)["Y"] == 0
