"""Copies, byte for byte, with writes to any log at any time: the answers of the real jobs against their contents."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from leaving.copies import WAYS, said, skipped, states
from leaving.linked_clusters import COPY, ORIGINAL, LinkedClusters
from offset_sync.tables.catalog import LOG_INCARNATIONS

STEPS = st.lists(
    st.sampled_from(["produce", "link", "index dc1", "index dc2", "some dc1", "some dc2", "look", "look", "restart"]),
    min_size=10,
    max_size=40,
)


def act(world: LinkedClusters, step: str, chance: random.Random) -> None:
    if step == "produce":
        world.produce(COPY if world.is_promoted and chance.random() < 0.5 else ORIGINAL, chance.randrange(1, 4))
    elif step == "link":
        world.link(chance.randrange(1, 5))
    elif step == "restart":
        world.restart_index()
        world.restart_sync()
    elif step.startswith("index"):
        world.index(step[-3:])
    elif step.startswith("some"):
        world.index(step[-3:], chance.randrange(1, 3))


@law(40)
@given(st.integers(0, 10**6), STEPS, st.integers(0, 30))
def test_a_copy_without_other_producers_is_answered_exactly_once_all_is_indexed(
    seed: int, steps: list[str], silent: int
) -> None:
    world, chance = LinkedClusters(random.Random(seed)), random.Random(seed)
    for number, step in enumerate(steps):
        world.down = {ORIGINAL} if number == silent else set()
        act(world, step, chance)
        assert step != "look" or skipped(world) == []
    world.is_quiet, world.down = True, set()
    world.link(1 << 20)
    for alias in (COPY, ORIGINAL):
        world.index(alias)
    end = len(world.logs[ORIGINAL])
    assert said(world, ORIGINAL, COPY) == said(world, COPY, ORIGINAL) == [(c, "EXACT") for c in range(end + 1)]


@law(80)
@given(st.integers(0, 10**6), STEPS, STEPS, st.sets(st.integers(0, 60), max_size=20))
def test_nothing_is_skipped_wherever_records_are_written(
    seed: int, before: list[str], after: list[str], silent: set[int]
) -> None:
    world, chance = LinkedClusters(random.Random(seed)), random.Random(seed)
    for number, step in enumerate(before + after):
        world.is_promoted |= number >= len(before)
        world.down = {ORIGINAL} if number in silent else set()
        act(world, step, chance)
        assert step != "look" or skipped(world) == [], number
    world.is_quiet, world.down = True, set()
    for alias in (ORIGINAL, COPY, ORIGINAL):
        world.produce(alias, len(world.logs[COPY]) + 1)
        for each in (COPY, ORIGINAL):
            world.index(each)
    differ = world.logs[COPY] != world.logs[ORIGINAL][: len(world.logs[COPY])]
    assert differ == (states(world, ORIGINAL, COPY) == {"COPY_WRITTEN"})


@law(40)
@given(st.integers(0, 10**6), STEPS, STEPS, st.sets(st.integers(0, 60), max_size=20))
def test_what_was_noticed_once_is_never_forgotten_though_the_times_tell_nothing(
    seed: int, before: list[str], after: list[str], silent: set[int]
) -> None:
    world, chance = LinkedClusters(random.Random(seed), times=1 << 40), random.Random(seed)
    for number, step in enumerate(before + after):
        world.is_promoted |= number >= len(before)
        world.down = {ORIGINAL} if number in silent else set()
        act(world, step, chance)
        reasons = {reason for (reason,) in world.tables.rows(LOG_INCARNATIONS, "reason")}
        if "WRITTEN" in reasons:
            assert world.is_promoted
            assert states(world, *chance.choice(WAYS)) <= {"COPY_WRITTEN", "CLUSTER_UNREACHABLE"}
