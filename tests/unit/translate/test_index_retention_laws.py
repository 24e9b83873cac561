"""Retention of runs: what is cut changes no answer that can be asked for, by brute force over random histories."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders.logs import NOW_MS, log
from generators.hypothesis_strategies import generators, law
from generators.retention import Indexes, answers_of, random_indexes, rows_of
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index_retention import IndexedLog
from oracles.translation import answers, f_by_offset

indexes = st.integers(0, 2**32).map(random_indexes)
SEALED = st.sampled_from([0.0, 0.4, 0.8, 1.0])
KEPT_MS = 5


def old_before(given_indexes: Indexes) -> int:
    return given_indexes.now_ms - max(KEPT_MS, given_indexes.grace_ms)


@law(150)
@example(random_indexes(3224), 0.0)
@given(indexes, SEALED)
def test_every_live_commit_has_the_answer_of_brute_force_over_the_whole_index(whole: Indexes, sealed: float) -> None:
    begins = whole.begins(old_before(whole), sealed)
    assert all(at in {row["start_offset"] for row in whole.rows[name]} for name, at in begins.items())
    left = whole.cut(begins)
    for source, target in permutations(whole.logs, 2):
        commits = range(whole.lowest_live(source), whole.logs[source].log_end + 1)
        found = answers_of(left.translate(source, target, commits))
        is_simpler = whole.reorders(target) > left.reorders(target)
        for ours, theirs in zip(found, answers(whole.case(source, target), commits), strict=True):
            assert replace(ours, lost=0, duplicates_at_most=0) == replace(theirs, lost=0, duplicates_at_most=0)
            # If no late record is left at the source, only records that are gone are counted; if none is left at the
            # target, one unknown record is one of its records, and not any number of them.
            assert ours.lost <= theirs.lost
            assert ours.duplicates_at_most == theirs.duplicates_at_most or is_simpler
            assert ours.duplicates <= ours.duplicates_at_most <= theirs.duplicates_at_most


@law(150)
@given(indexes, SEALED)
def test_no_commit_at_all_has_a_greater_answer_than_by_brute_force_over_the_whole_index(
    whole: Indexes, sealed: float
) -> None:
    left = whole.cut(whole.begins(old_before(whole), sealed))
    for source, target in permutations(whole.logs, 2):
        commits = range(whole.logs[source].log_end + 1)
        cut = answers_of(left.translate(source, target, commits))
        for before, after in zip(answers(whole.case(source, target), commits), cut):
            assert after.clamped_offset <= before.clamped_offset


@law(150)
@given(indexes, generators)
def test_however_the_logs_grow_after_a_cut_no_unread_record_is_skipped(whole: Indexes, rng: random.Random) -> None:
    sooner, later = whole.halfway(rng)
    grown = sooner.cut(sooner.begins(old_before(whole), sealed=1.0)).with_rows(later)
    for source, target in permutations(whole.logs, 2):
        required = f_by_offset(whole.case(source, target))
        commits = range(whole.logs[source].log_end + 1)
        for committed, answer in zip(commits, answers_of(grown.translate(source, target, commits))):
            skipped = required[whole.logs[target].log_start : max(answer.clamped_offset, 0)]
            assert all(last_read < committed for last_read in skipped)


@pytest.mark.parametrize(
    ("source", "target", "starts", "splits", "begins"),
    [
        ("X0:9", ". . X0:9", (6, 10), 99, (6, 8)),
        ("Z0:3 X3:9", "Z0:3 . X3:9", (6, 8), 99, (6, 7)),
        ("Z0:3 X3:9", "? Z0:3 X3:9", (6, 8), 99, (2, 0)),
        ("Z0 X1:9", "? Z0 X1:9", (6, 8), 99, (0, 0)),
        # The unknown record may fill any hole, so no hole is read below it.
        ("Z0:3 X3:8 ?", "? Z0:3 X3:9", (6, 8), 99, (0, 0)),
        # Sent again, so the first place too
        ("Z0 X1:9 Z0", "? Z0 X1:9", (6, 8), 99, (0, 0)),
        ("Z2:4 X2:9 Z2", "? Z2:4 X2:9", (6, 8), 99, (0, 0)),
        ("Z0:3 X3:5 Z2:4 X7:9", "? Z0:3 X3:9", (6, 8), 0, (0, 0)),
        # Or a commit of 5, below all that can come, would have read X5, and be answered above the log start.
        ("Z0 . . . . . X6:10", "X5 X4 X5 X6:10", (6, 1), 99, (0, 0)),
    ],
)
def test_what_each_log_has_to_keep(
    source: str, target: str, starts: tuple[int, int], splits: int, begins: tuple[int, int]
) -> None:
    logs = {"X": log("X", source, log_start=starts[0]), "Y": log("Y", target, log_start=starts[1])}
    rows = {name: rows_of(each, random.Random(0), splits=splits) for name, each in logs.items()}
    whole = Indexes(logs, rows, {"X": [], "Y": []}, NOW_MS, 0)
    assert tuple(whole.begins(NOW_MS, 1.0, page_rows=1).values()) == begins
    for sealed in (0.0, 0.3, 0.5, 0.7, 1.0):
        assert all(at <= most for at, most in zip(whole.begins(NOW_MS, sealed).values(), begins, strict=True))


def test_the_first_run_that_is_too_young_to_go_is_a_floor() -> None:
    index = LogIndex()
    index.extend(Runs.of([0, 10, 20], [10] * 3, [0, 1, 0], [0, 0, 20], [1, 2, 900]), 30)
    one = IndexedLog(index, 0, 30, 30)
    assert (one.floor(1_000), one.floor(900), one.floor(2)) == (30, 20, 10)
