"""What was indexed as a copy, byte for byte, and has another strategy now: no other one may believe its rows."""

from __future__ import annotations

import random

import pytest

from leaving.copied_clusters import CopiedClusters
from offset_sync.model.values import State


def states(world: CopiedClusters, source: str, target: str, commits: list[int]) -> set[str]:
    """Return the words of the answers."""
    return {State(each).name for each in world.answers(source, target, commits).state.tolist()}


def index(world: CopiedClusters) -> None:
    for alias in world.logs:
        world.index(alias)


def world_of() -> CopiedClusters:
    """Return three clusters; dc2 was recreated by a producer, and its index has its records as copies."""
    world = CopiedClusters(random.Random(1))
    world.is_quiet = True
    world.produce("dc1", 6)
    world.link("dc3", 6)
    world.upstream["dc2"] = None
    world.produce("dc2", 4)
    index(world)
    return world


@pytest.mark.parametrize("strategy", ["exact", "header", "timestamp"])
@pytest.mark.parametrize("pair", [("dc1", "dc2"), ("dc2", "dc1"), ("dc1", "dc3")])
def test_a_log_that_was_indexed_as_a_copy_is_withheld_with_any_other_strategy(
    strategy: str, pair: tuple[str, str]
) -> None:
    """Its rows say that dc2's own records are those of dc1 at the same offsets, which would skip them."""
    world = world_of()
    world.configure(strategy, "dc1")
    assert states(world, *pair, [0, 2, 4]) == {"COPY_WRITTEN"}
    index(world)
    assert states(world, *pair, [0, 2, 4]) == {"COPY_WRITTEN"}


def test_so_it_is_where_the_other_cluster_is_lost() -> None:
    world = world_of()
    world.configure("exact", "dc1")
    world.down.add("dc2")
    assert states(world, "dc2", "dc1", [2]) == {"COPY_WRITTEN"}


def test_with_identity_again_it_is_what_it_was() -> None:
    world = world_of()
    world.configure("exact", "dc1")
    world.configure("identity", "dc1")
    assert states(world, "dc1", "dc3", [0, 4]) == {"EXACT"}


def test_a_topic_that_was_recreated_since_has_no_such_rows() -> None:
    world = world_of()
    world.configure("exact", "dc1")
    for alias in world.logs:
        world.recreate(alias)
        world.produce(alias, 3)
    index(world)
    assert states(world, "dc1", "dc2", [0]) == {"EXACT"}


def test_a_topic_that_never_was_a_copy_is_no_concern() -> None:
    world = CopiedClusters(random.Random(1), strategy="exact")
    world.is_quiet = True
    world.produce("dc1", 3)
    world.upstream["dc2"] = None
    world.produce("dc2", 3)
    index(world)
    assert states(world, "dc1", "dc2", [0]) == {"EXACT"}
