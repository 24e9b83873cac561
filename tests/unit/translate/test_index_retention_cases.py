"""Retention of runs, worked out by hand: what each log has to keep, and for whom."""

from __future__ import annotations

import random

from builders.index_rows import begin, edge, run
from builders.logs import NOW_MS, log
from generators.retention import Indexes, place_of, rows_of
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
