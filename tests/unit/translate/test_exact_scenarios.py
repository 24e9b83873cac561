"""MirrorMaker 2's own offset scenarios, as far as they are about translation, and what ours answers.

Numbers as in the project's survey of the field. Not here: S08 to S10 (storage of syncs), S11 and S12 (names, metadata),
S13, S14 and S16 (the sink), S34 and S35 (internal topics).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from builders.logs import NOW_MS, ask, at_frontier, exact, log, offsets
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from oracles.translation import Case
from oracles.translation_check import translated


def test_commits_at_between_and_before_its_syncs_are_all_exact_s01() -> None:
    target = log("Y", "X0:130 . X130:300", first=100)
    assert ask(log("X", "X0:300"), target, 100, 150, 120, 50) == [exact(200), exact(251), exact(220), exact(150)]


def test_offsets_of_a_target_that_began_again_are_the_new_ones_s02() -> None:
    assert offsets(log("X", "X0:300"), log("Y", "X190:300"), 200) == [10]


def test_a_mirror_that_goes_back_moves_no_group_s03_s40() -> None:
    once, again = log("Y", "X0:100"), log("Y", "X0:100 X0:100")
    assert ask(None, once, 40) == [exact(40)]
    assert ask(None, again, 40, 100) == [exact(40, 40), at_frontier(200)]
    assert ask(None, log("Y", "X0:100 X20:60"), 50) == [exact(50, 30)]


def test_nothing_is_skipped_before_the_target_is_indexed_and_all_is_exact_afterwards_s04_s05_s15_s36() -> None:
    target = log("Y", "X0:10")
    assert ask(None, replace(target, frontier=0), 5) == [at_frontier(0)]
    assert ask(None, target, 5) == [exact(5)]


def test_a_restart_forgets_no_older_position_s06_s07_s18_s37() -> None:
    before, after = log("Y", "X0:300", frontier=200), log("Y", "X0:300")
    assert offsets(None, before, 20, 150, 250) == [20, 150, 200]
    assert offsets(None, after, 20, 150, 250) == [20, 150, 250]


def test_over_and_back_again_the_group_reads_on_where_it_was_s31() -> None:
    x, y = log("X", "X0:10 Y10:20"), log("Y", "X0:10 Y10:20")
    assert ask(x, y, 7) == [exact(7)]
    assert translated(Case("Y", y, x, NOW_MS), [7, 15]) == [exact(7), exact(15)]


def test_a_commit_on_an_empty_partition_exists_and_is_zero_s32() -> None:
    assert ask(log("X", ""), log("Y", ""), 0) == [at_frontier(0)]


def test_one_way_sync_repeats_nothing_whatever_the_lag_s33() -> None:
    found = ask(log("X", "X0:200"), log("Y", ". X0:200"), *range(201))
    assert [answer.offset for answer in found] == list(range(1, 202))
    assert not any(answer.duplicates_at_most for answer in found)


def test_a_lagging_group_goes_forward_and_back_as_its_commits_do_s38() -> None:
    assert offsets(None, log("Y", "X0:100"), 10, 90, 10) == [10, 90, 10]


def test_commits_older_than_the_mirrors_beginning_answer_its_first_record_s39() -> None:
    assert offsets(log("X", "X0:800"), log("Y", "X500:800"), 100, 500, 600) == [0, 0, 100]


def test_markers_of_transactional_producers_shift_the_source_only_s41() -> None:
    source = log("X", "X0:9 . X10:19 . X20:29 .")
    assert offsets(source, log("Y", "X0:9 X10:19 X20:29"), 9, 10, 11, 20, 30) == [9, 9, 10, 18, 27]


def test_a_source_truncated_from_the_start_and_a_mirror_behind_are_no_obstacle_s42() -> None:
    source = log("X", "X60:100", first=60, log_start=60)
    assert ask(source, log("Y", "X60:90"), 10, 60, 75, 95) == [exact(0), exact(0), exact(15), at_frontier(30)]


def test_behind_a_hole_of_a_hundred_thousand_a_million_records_later_nothing_is_read_again_s43() -> None:
    source, target = LogIndex(), LogIndex()
    for start, origin_start in ((0, 0), (600_000, 600_000)):
        source.extend(Runs.of([start], [500_000], [0], [origin_start], [0]), start + 500_000)
    for start, origin_start in ((0, 0), (500_000, 600_000)):
        target.extend(Runs.of([start], [500_000], [0], [origin_start], [0]), start + 500_000)
    commits = np.array([998_400, 1_000_100, 550_000], dtype=np.int64)
    found = translate(commits, PartitionLog(source, 0), PartitionLog(target, 1), Bounds(young_since_ms=0))
    assert found.offset.tolist() == [898_400, 900_100, 500_000]
    assert found.duplicates_at_most.tolist() == [0, 0, 0]


def test_a_source_whose_records_have_all_expired_leaves_a_position_that_exists_s44() -> None:
    assert ask(log("X", "", first=100, log_start=100), log("Y", ""), 100) == [at_frontier(0)]
