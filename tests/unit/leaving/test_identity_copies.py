"""Copies, byte for byte: the answers of the real jobs before and after another producer writes to them."""

from __future__ import annotations

import random

import pytest

from leaving.copies import said, skipped, states
from leaving.linked_clusters import COPY, ORIGINAL, LinkedClusters
from offset_sync.tables.catalog import LOG_INCARNATIONS, QUARANTINE


def world_of(seed: int = 0, times: int = 1, *, is_quiet: bool = False) -> LinkedClusters:
    return LinkedClusters(random.Random(seed), times, is_quiet=is_quiet)


def linked(count: int, copied: int | None = None) -> LinkedClusters:
    """Return clusters with *count* records, of which so many are *copied*, all of it indexed."""
    world = world_of(is_quiet=True)
    world.produce(ORIGINAL, count)
    world.link(count if copied is None else copied)
    index(world)
    return world


def index(world: LinkedClusters) -> None:
    for alias in (COPY, ORIGINAL):
        world.index(alias)


# While it is a copy


def test_a_commit_is_the_same_offset_up_to_the_end_of_the_copy() -> None:
    world = linked(6, copied=4)
    exact = [(offset, "EXACT") for offset in range(5)]
    assert said(world, ORIGINAL, COPY) == [*exact, (4, "AT_FRONTIER"), (4, "AT_FRONTIER")]
    assert said(world, COPY, ORIGINAL) == exact
    world.link(2)
    world.index(COPY)
    assert said(world, ORIGINAL, COPY) == said(world, COPY, ORIGINAL) == [*exact, (5, "EXACT"), (6, "EXACT")]


def test_what_is_indexed_at_one_cluster_only_is_not_known_to_be_the_same() -> None:
    world = linked(3)
    world.produce(ORIGINAL, 3)
    world.link(3)
    world.index(COPY)
    behind = [*((offset, "EXACT") for offset in range(4)), *[(3, "INDEX_BEHIND")] * 3]
    assert said(world, ORIGINAL, COPY) == behind
    world.index(ORIGINAL)
    assert said(world, ORIGINAL, COPY)[4:] == [(4, "EXACT"), (5, "EXACT"), (6, "EXACT")]


def test_an_empty_topic_begins_at_its_end() -> None:
    world = linked(0)
    assert said(world, ORIGINAL, COPY) == said(world, COPY, ORIGINAL) == [(0, "EXACT")]
    world.produce(ORIGINAL, 2)
    world.index(ORIGINAL)
    assert [offset for offset, _ in said(world, ORIGINAL, COPY)] == [0, 0, 0]


def test_a_lost_original_is_answered_for_by_what_is_known_of_it() -> None:
    world = linked(5)
    world.down.add(ORIGINAL)
    for _ in range(2):
        assert said(world, ORIGINAL, COPY) == [(offset, "EXACT") for offset in range(6)]
        world.restart_sync()
    world.is_promoted = True
    world.produce(COPY, 3)
    world.index(COPY)
    assert said(world, ORIGINAL, COPY) == [(offset, "EXACT") for offset in range(6)]
    assert skipped(world) == []


# Once it is written to


def test_a_copy_that_is_ahead_is_withheld_both_ways_and_for_ever() -> None:
    world = linked(4)
    world.write_to_the_copy(2)
    for _ in range(2):
        assert states(world, ORIGINAL, COPY) == states(world, COPY, ORIGINAL) == {"COPY_WRITTEN"}
        world.produce(ORIGINAL, 5)
        world.restart_index()
        world.restart_sync()
        index(world)
    written = world.tables.rows(LOG_INCARNATIONS, "cluster", "partition", "begins_at", "reason")
    assert [row for row in written if row[3] == "WRITTEN"] == [(COPY, 0, 4, "WRITTEN")]
    # Else a copy that is written to for a year would fill the table.
    assert world.tables.rows(QUARANTINE, "error") == []


def test_a_copy_that_was_ahead_while_the_original_was_silent_is_told_when_that_comes_back() -> None:
    world = linked(4)
    world.times = 1 << 40
    world.is_promoted = True
    world.down.add(ORIGINAL)
    world.produce(COPY, 5)
    world.index(COPY)
    world.down.clear()
    world.produce(ORIGINAL, 2)
    assert states(world, ORIGINAL, COPY) == {"COPY_WRITTEN"}
    world.index(ORIGINAL)
    world.produce(ORIGINAL, 9)
    world.restart_sync()
    index(world)
    assert states(world, ORIGINAL, COPY) == states(world, COPY, ORIGINAL) == {"COPY_WRITTEN"}


def test_records_of_other_times_at_the_same_offsets_are_told_also_when_the_ends_look_fine() -> None:
    world = linked(4)
    world.is_promoted = True
    world.produce(ORIGINAL, 5)
    world.produce(COPY, 2)
    world.index(COPY)
    assert said(world, ORIGINAL, COPY)[4:] == [(4, "EXACT"), *[(4, "INDEX_BEHIND")] * 5]
    world.index(ORIGINAL)
    for _ in range(2):
        assert states(world, ORIGINAL, COPY) == states(world, COPY, ORIGINAL) == {"COPY_WRITTEN"}
        world.restart_sync()


def test_a_copy_that_was_cut_back_and_copies_again_is_one_again() -> None:
    world = linked(4)
    world.is_promoted = True
    world.produce(COPY, 2)
    world.index(COPY)
    assert states(world, ORIGINAL, COPY) == {"COPY_WRITTEN"}
    world.cut(COPY, 4)
    world.is_promoted = False
    world.produce(ORIGINAL, 4)
    world.link(4)
    index(world)
    index(world)
    assert skipped(world) == []
    assert [offset for offset, _ in said(world, ORIGINAL, COPY)] == list(range(9))


def test_a_copy_that_lost_some_of_its_own_records_has_the_others_still() -> None:
    world = linked(4)
    world.times = 1 << 40
    world.is_promoted = True
    world.produce(COPY, 4)
    world.index(COPY)
    world.cut(COPY, 6)
    world.produce(ORIGINAL, 9)
    world.produce(COPY, 4)
    for _ in range(2):
        index(world)
        assert states(world, ORIGINAL, COPY) <= {"COPY_WRITTEN", "LOG_TRUNCATED"}
        world.restart_sync()
    assert states(world, ORIGINAL, COPY) == {"COPY_WRITTEN"}


def test_a_copy_that_was_recreated_is_one_again() -> None:
    world = linked(4)
    world.is_promoted = True
    world.produce(COPY, 2)
    world.index(COPY)
    world.logs[COPY], world.ids[COPY], world.is_promoted = [], "id-3", False
    world.produce(ORIGINAL, 4)
    world.link(8)
    index(world)
    index(world)
    assert skipped(world) == []
    assert [offset for offset, _ in said(world, ORIGINAL, COPY)] == list(range(9))


def test_an_original_that_was_recreated_is_another_one() -> None:
    world = linked(4)
    world.logs[ORIGINAL], world.ids[ORIGINAL] = [], "id-3"
    world.produce(ORIGINAL, 9)
    for _ in range(2):
        index(world)
        assert skipped(world) == []
        assert states(world, ORIGINAL, COPY) <= {"COPY_WRITTEN", "TOPIC_RECREATED"}


def test_an_original_that_was_cut_does_not_make_other_records_pass_for_read() -> None:
    world = linked(6)
    world.cut(ORIGINAL, 3)
    world.produce(ORIGINAL, 5)
    world.index(ORIGINAL)
    assert skipped(world) == []
    assert states(world, ORIGINAL, COPY) <= {"COPY_WRITTEN", "LOG_TRUNCATED"}


@pytest.mark.parametrize("silent", [set[str](), {ORIGINAL}])
def test_the_original_is_not_asked_before_the_copy_has_returned_its_end(silent: set[str]) -> None:
    """Else a record that is written and copied in between would pass for one that the original does not have."""
    world = world_of(7)
    world.down = silent
    for _ in range(60):
        world.produce(ORIGINAL, 3)
        world.link(3)
        world.index(COPY, 2)
        world.index(ORIGINAL, 2)
        assert "COPY_WRITTEN" not in states(world, ORIGINAL, COPY)


def test_an_original_that_comes_back_under_another_leader_is_not_taken_for_cut() -> None:
    world = linked(4)
    world.is_promoted = True
    world.down.add(ORIGINAL)
    world.produce(COPY, 3)
    world.index(COPY)
    world.down.clear()
    world.epochs[ORIGINAL] += 1
    world.produce(ORIGINAL, 1)
    index(world)
    reasons = {reason for (reason,) in world.tables.rows(LOG_INCARNATIONS, "reason")}
    assert reasons == {None, "ELECTED", "WRITTEN", "COPIED"}
