"""A copy that has followed its original into another life is one at once, and not only above the former records."""

from __future__ import annotations

import random

import pytest

from leaving.copied_clusters import CopiedClusters


def linked(order: tuple[str, str]) -> CopiedClusters:
    """Return clusters of which dc2 has all that dc1 has, indexed."""
    world = CopiedClusters(random.Random(1))
    world.is_quiet = True
    world.produce("dc1", 4)
    world.link("dc2", 4)
    index(world, order)
    return world


def index(world: CopiedClusters, order: tuple[str, str]) -> None:
    for _ in range(2):
        for alias in order:
            world.index(alias, is_due=True)


def said(world: CopiedClusters, source: str, target: str, commits: list[int]) -> list[int]:
    found: list[int] = world.answers(source, target, commits).wanted.tolist()
    return found


@pytest.mark.parametrize("is_cut", [True, False], ids=["cut", "recreated"])
@pytest.mark.parametrize("order", [("dc1", "dc2"), ("dc2", "dc1")])
@pytest.mark.parametrize("pair", [("dc1", "dc2"), ("dc2", "dc1")])
def test_where_both_have_begun_another_life_the_offset_is_the_same_again(
    pair: tuple[str, str], order: tuple[str, str], *, is_cut: bool
) -> None:
    """Its rows may be of the former life of dc1, as far as lives tell; their times say that they are not."""
    world = linked(order)
    for alias in ("dc1", "dc2"):
        if is_cut:
            world.logs[alias].cut(2)
        else:
            world.recreate(alias)
    world.produce("dc1", 6)
    world.link("dc2", 6)
    index(world, order)
    world.restart_sync()
    end = world.logs["dc1"].end
    assert said(world, *pair, [1, 3, end]) == [1, 3, end]


@pytest.mark.parametrize("order", [("dc1", "dc2"), ("dc2", "dc1")])
def test_a_copy_that_has_not_followed_is_none(order: tuple[str, str]) -> None:
    world = linked(order)
    world.recreate("dc1")
    world.produce("dc1", 6)
    index(world, order)
    assert said(world, "dc1", "dc2", [0, 3, 6]) == [-1, -1, -1]
