"""MirrorMaker's offsets in a report: what they would cost, and that nothing follows from them."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint, checkpoints_at
from fakes.reconciler_site import STARTED_MS
from fakes.status_site import Row, StatusSite, moved, site_of_case
from generators.hypothesis_strategies import law
from generators.mirrored_logs import random_cases, random_world
from offset_sync.model.values import TopicPartition
from oracles.translation import Case

COLUMNS = ("mirror_maker_offset", "mirror_maker_behind", "mirror_maker_lost")
ORDERS = TopicPartition("orders", 0)


def told(site: StatusSite, offset: int, *, at: str = "Y", source: str = "X", at_ms: int = STARTED_MS) -> StatusSite:
    """The same with a checkpoint of MirrorMaker's at a cluster."""
    site.checkpoints[at] = checkpoints_at(at, {source: [MemoryCheckpoints([checkpoint(offset, at_ms)])]})
    return site


def said(site: StatusSite) -> tuple[int | None, ...]:
    row = site.row()
    return tuple(row[name] for name in COLUMNS)


def test_without_mirror_maker_there_is_nothing_to_show() -> None:
    row = moved("X0:10", ". . X0:10", 6).row()
    assert [row[name] for name in (*COLUMNS, "mirror_maker_doubt")] == [None] * 4


def test_the_same_offset_is_neither_behind_nor_loses() -> None:
    assert said(told(moved("X0:10", ". . X0:10", 6), 8)) == (8, 0, 0)


def test_behind_counts_the_records_that_the_group_would_read_again() -> None:
    assert said(told(moved("X0:10", ". . X0:10", 6), 3)) == (3, 5, 0)


def test_offsets_without_a_record_are_not_counted() -> None:
    assert said(told(moved("X0:10", "X0:3 . . . X3:10", 6), 2)) == (2, 4, 0)


def test_ahead_counts_the_records_that_the_group_would_never_see() -> None:
    assert said(told(moved("X0:10", ". . X0:10", 6), 11)) == (11, 0, 3)


def test_ahead_by_what_the_group_has_read_loses_nothing() -> None:
    # Sent again: at Y 4 and 5 come after the first unread record, 6.
    assert said(told(moved("X0:10", "X0:7 X4:6 X7:10", 6), 9)) == (9, 0, 1)
    assert said(told(moved("X0:10", "X0:6 X2:4 X6:10", 6), 8)) == (8, 0, 0)


def test_what_is_withheld_or_outside_of_the_log_has_a_checkpoint_and_no_cost() -> None:
    assert said(told(moved("X0:10", ". . X0:10", 6), 13)) == (13, None, None)
    withheld = moved("X0:10", ". . X0:10", 6)
    withheld.put(log("X", "X0:10"), topic_id="recreated")
    withheld.index.ids["X", "orders"] = {"first", "recreated"}
    assert said(told(withheld, 3)) == (3, None, None)


def test_a_newer_checkpoint_is_seen_though_nothing_else_has_changed() -> None:
    site = told(moved("X0:10", ". . X0:10", 6), 3)
    assert said(site) == (3, 5, 0)
    assert said(told(site, 5)) == (5, 3, 0)


def test_checkpoints_of_the_groups_of_another_cluster_are_not_compared() -> None:
    assert said(told(moved("X0:10", ". . X0:10", 6), 3, source="Z")) == (None, None, None)


def test_no_answer_status_or_cost_follows_from_them() -> None:
    site = moved("X0:10", ". . X0:10", 6)
    before = without_mirror_maker(site.row())
    for offset in (0, 3, 8, 11, 12, 500):
        assert without_mirror_maker(told(site, offset).row()) == before


def without_mirror_maker(row: Row) -> Row:
    return {name: value for name, value in row.items() if not name.startswith("mirror_maker")}


@law(60)
@given(st.integers(0, 2**32))
def test_they_cost_what_a_report_says_of_a_group_at_that_offset(seed: int) -> None:
    rng = random.Random(seed)
    cases = [each for each in random_cases(random_world(rng), rng) if each.source is not None]
    for case in rng.sample(cases, min(len(cases), 4)):
        assert case.source is not None
        commit, offset = rng.randint(0, case.source.log_end), rng.randint(case.target.log_start, case.target.log_end)
        row = standing_at(case, commit, 0, offset)
        assert row["mirror_maker_offset"] == offset
        if row["wanted_offset"] is not None:
            there, ours = (standing_at(case, commit, each, offset) for each in (offset, row["wanted_offset"]))
            wanted = max(there["duplicates"] - ours["duplicates"], 0), there["lost"] - ours["lost"]
            assert (row["mirror_maker_behind"], row["mirror_maker_lost"]) == wanted


def standing_at(case: Case, commit: int, position: int, said_offset: int) -> Row:
    """The row of a group that has committed at the source and is at a position, beside MirrorMaker's."""
    site, target = site_of_case(case, [(commit, position)]), case.target.cluster
    checkpoints = MemoryCheckpoints([checkpoint(said_offset, case.now_ms, group="0")])
    site.checkpoints[target] = checkpoints_at(target, {case.source_cluster: [checkpoints]})
    (row,) = (each for each in site.report(case.now_ms) if each["target_cluster"] == target)
    return row
