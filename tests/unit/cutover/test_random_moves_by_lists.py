"""Random histories of a group that moves by read lists, judged by the contents of logs."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from oracles.moving_group import MovingGroup
from tools.thorough import examples

TO_AND_FRO = {"mirror": 4, "go_on": 6, "sync": 2, "move": 8}
HAPPENS = {"mirror": 6, "go_on": 6, "sync": 3, "set_back": 2, "refuse": 3, "restart": 1, "move": 2}


def lived(seed: int, aliases: str, *, is_calm: bool, happens: Mapping[str, int] = HAPPENS) -> MovingGroup:
    """Return a group after a while."""
    rng = random.Random(seed)
    group = MovingGroup(rng, aliases, is_calm=is_calm)
    for what in rng.choices([*happens], [*happens.values()], k=25):
        getattr(group, what)()
    return group


@pytest.mark.parametrize("aliases", ["XY", "XYZ"])
def test_no_present_list_has_a_record_that_the_group_has_not_read(aliases: str) -> None:
    groups = [lived(seed, aliases, is_calm=False) for seed in range(examples(60))]
    assert sum(each.moves for each in groups) >= len(groups) // 3
    assert sum(each.skipped for each in groups) > 0


def test_a_group_that_was_never_set_back_and_whose_mirrors_lose_nothing_reads_nothing_twice() -> None:
    groups = [lived(seed, "XY", is_calm=True) for seed in range(examples(60))]
    assert sum(each.moves for each in groups) >= len(groups)
    assert sum(each.skipped for each in groups) > 0


@pytest.mark.parametrize("is_calm", [True, False])
def test_a_group_that_is_moved_to_and_fro_is_set_back_nowhere_and_skips_nothing(is_calm: bool) -> None:
    groups = [lived(seed, "XY", is_calm=is_calm, happens=TO_AND_FRO) for seed in range(examples(40))]
    assert sum(each.moves for each in groups) >= 2 * len(groups)
