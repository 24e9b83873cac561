"""Copies with other names: nothing is lost and nothing is repeated that need not be, there and back, both ways at once.

Judged by contents alone: a group has read the records below its positions, at any cluster.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fakes.named_doors import let_doors_lead_to
from fakes.named_world import ALIASES, NamedWorld
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS

CALLED = {
    "dc1.orders": {"dc1": "orders", "dc2": "dc1.orders"},
    "dc2.orders": {"dc1": "dc2.orders", "dc2": "orders"},
}
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


def test_what_is_stored_has_the_names_of_its_cluster_and_says_the_stream_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = NamedWorld(tmp_path, random.Random(1))
    let_doors_lead_to(world.clusters, monkeypatch)
    traffic(world)
    Reader(world, "g").read_on("dc1")
    world.commit("dc1", "g", "heartbeats", 3)
    world.sync()
    world.history.close()
    names = {(alias, called[alias]) for called in CALLED.values() for alias in ALIASES}
    found = {(cluster, topic) for _, cluster, topic in world.stored_topics()}
    assert found == names | {("dc1", "heartbeats")}
    answers = [row for row in world.rows(OFFSET_TRANSLATIONS) if row["outcome"] == "COMMITTED"]
    assert {(row["topic"], row["stream"], row["target_topic"]) for row in answers} == {
        ("orders", "dc1.orders", "dc1.orders"),
        ("dc2.orders", "dc2.orders", "orders"),
    }
    assert not any(row["topic"] == "heartbeats" for row in world.rows(OFFSET_TRANSLATIONS))


def test_headers_that_an_application_has_handed_on_are_nothing_to_go_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = NamedWorld(tmp_path, random.Random(2))
    let_doors_lead_to(world.clusters, monkeypatch)
    world.produce("dc1", 20)
    # At home they name a place that the other cluster's records have; in the copy such a record has no place.
    world.logs["dc1", "orders"][5] = type(world.logs["dc1", "orders"][5])("dc1", 5, ("dc2", 0))
    world.mirror("dc1", "dc2")
    copy = world.logs["dc2", "dc1.orders"]
    copy.append(type(copy[0])("dc1", 99, ("dc2", 7)))
    world.index_all()
    world.commit("dc1", "g", "orders", 20)
    world.commit("dc1", "h", "orders", 3)
    world.commit("dc2", "back", "dc1.orders", 5)
    world.sync()
    assert world.stands("dc1", "back", "orders") == 5  # it has not read that record, whatever its headers say
    first = next((n for n, each in enumerate(copy) if each.number >= 3), len(copy))
    assert world.stands("dc2", "h", "dc1.orders") == first
    assert world.stands("dc2", "g", "dc1.orders") == len(copy) - 1  # before the record without a place
