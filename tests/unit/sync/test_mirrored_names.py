"""Copies with other names: nothing is lost and nothing is repeated that need not be, there and back, both ways at once.

Judged by contents alone: a group has read the records below its positions, at any cluster.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fakes.named_doors import let_doors_lead_to
from fakes.named_world import ALIASES, NamedWorld

CALLED = {"dc1.orders": {"dc1": "orders", "dc2": "dc1.orders"}, "dc2.orders": {"dc1": "dc2.orders", "dc2": "orders"}}
"""What each stream is called where."""


@pytest.fixture(params=range(12))
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NamedWorld:
    made = NamedWorld(tmp_path, random.Random(request.param))
    let_doors_lead_to(made.clusters, monkeypatch)
    return made


def traffic(world: NamedWorld) -> None:
    """Let both sides produce and be mirrored, in turns."""
    for _ in range(3):
        for alias in ALIASES:
            world.produce(alias, world.rng.randint(0, 9))
        world.mirror("dc1", "dc2")
        world.mirror("dc2", "dc1")
    world.index_all()


class Reader:
    """A group that reads both streams, at one cluster at a time, and remembers what."""

    def __init__(self, world: NamedWorld, name: str) -> None:
        self.world, self.name = world, name
        self.read: dict[str, set[int]] = {stream: set() for stream in CALLED}

    def read_on(self, alias: str) -> None:
        """Read some of what is left at *alias*, of each stream, and commit."""
        for stream, called in CALLED.items():
            topic = called[alias]
            log = self.world.logs[alias, topic]
            first = self.world.stands(alias, self.name, topic) or 0
            until = self.world.rng.randint(first, len(log)) if first < len(log) else first
            self.read[stream] |= {record.number for record in log[first:until]}
            self.world.commit(alias, self.name, topic, until)

    def check(self, here: str, there: str) -> None:
        """See that where it goes on nothing is skipped, and that it is the last such place by what it says *here*."""
        for stream, called in CALLED.items():
            log = self.world.logs[there, called[there]]
            stands, said = (self.world.stands(alias, self.name, called[alias]) for alias in (there, here))
            assert stands is not None
            assert {record.number for record in log[:stands]} <= self.read[stream]
            known = {record.number for record in self.world.logs[here, called[here]][:said]}
            assert stands == next((n for n, each in enumerate(log) if each.number not in known), len(log))


def test_a_group_goes_on_at_the_first_unread_record_of_both_and_so_it_does_when_it_comes_back(
    world: NamedWorld,
) -> None:
    readers = [Reader(world, f"g{number}") for number in range(4)]
    here, there = ALIASES
    for _ in range(4):
        traffic(world)
        for reader in readers:
            reader.read_on(here)
        assert world.sync() == []
        for reader in readers:
            reader.check(here, there)
        here, there = there, here
        if world.rng.random() < 0.5:
            world.start()
            restore(world)


def restore(world: NamedWorld) -> None:
    """Have the new driver read the commit logs from the beginning."""
    world.position = dict.fromkeys(ALIASES, 0)
    for alias in ALIASES:
        world.commit_batches[alias] += 100
