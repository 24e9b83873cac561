"""Copies, byte for byte, under other names: t(c) = c between what a stream is called here and there."""

from __future__ import annotations

import random

import pytest

from leaving.copies import said, skipped, states
from leaving.linked_clusters import COPY, ORIGINAL, LinkedClusters
from offset_sync.tables.catalog import INDEXED_TOPICS, LOG_INCARNATIONS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table

CALLED = {(ORIGINAL, "orders"), (COPY, "dc1.orders")}


def world_of(seed: int = 0, *, is_quiet: bool = True) -> LinkedClusters:
    return LinkedClusters(random.Random(seed), is_quiet=is_quiet, mirror={"names": "mm2"})


def index(world: LinkedClusters) -> None:
    for alias in (COPY, ORIGINAL):
        world.index(alias)


def test_a_commit_is_the_same_offset_under_the_other_name() -> None:
    world = world_of()
    world.produce(ORIGINAL, 6)
    world.link(4)
    index(world)
    exact = [(offset, "EXACT") for offset in range(5)]
    for _ in range(2):
        assert said(world, ORIGINAL, COPY) == [*exact, (4, "AT_FRONTIER"), (4, "AT_FRONTIER")]
        assert said(world, COPY, ORIGINAL) == exact
        world.restart_index()
        world.restart_sync()
    for table in (RECORD_RUNS, INDEXED_TOPICS):
        assert set(stored(world, table)) == CALLED
    runs = world.tables.rows(RECORD_RUNS, "origin", "length")
    assert {origin for origin, length in runs if length} == {ORIGINAL}


def stored(world: LinkedClusters, table: Table) -> list[tuple[str, str]]:
    """Return (cluster, topic) of each row as it is stored."""
    return [(row["cluster"], row["topic"]) for rows in world.tables.versions[table.name] for row in rows.to_pylist()]


def test_a_copy_that_was_written_to_is_withheld_both_ways_and_noted_under_its_name() -> None:
    world = world_of()
    world.produce(ORIGINAL, 4)
    world.link(4)
    index(world)
    world.write_to_the_copy(2)
    for _ in range(2):
        assert states(world, ORIGINAL, COPY) == states(world, COPY, ORIGINAL) == {"COPY_WRITTEN"}
        world.produce(ORIGINAL, 5)
        world.restart_index()
        world.restart_sync()
        index(world)
    noted = [row for rows in world.tables.versions[LOG_INCARNATIONS.name] for row in rows.to_pylist()]
    assert [(row["cluster"], row["topic"]) for row in noted if row["reason"] == "WRITTEN"] == [(COPY, "dc1.orders")]
    assert world.tables.rows(QUARANTINE, "error") == []


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_skipped_wherever_records_are_written(seed: int) -> None:
    world, chance = world_of(seed, is_quiet=False), random.Random(seed)
    for number in range(40):
        world.is_promoted = number > 20 and seed % 4 > 0
        world.down = {ORIGINAL} if chance.random() < 0.1 else set()
        alias = chance.choice((ORIGINAL, COPY))
        if chance.random() < 0.4:
            world.produce(alias if world.is_promoted else ORIGINAL, chance.randrange(1, 4))
            world.link(chance.randrange(4))
        elif chance.random() < 0.8:
            world.index(alias, chance.randrange(1, 5))
        else:
            world.restart_index()
            world.restart_sync()
        assert skipped(world) == []
    world.is_quiet, world.down = True, set()
    world.link(1 << 20)
    index(world)
    index(world)
    assert skipped(world) == []
    differ = world.logs[COPY] != world.logs[ORIGINAL][: len(world.logs[COPY])]
    assert differ == ("COPY_WRITTEN" in states(world, ORIGINAL, COPY))
