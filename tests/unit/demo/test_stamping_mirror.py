"""The mirror that runs the recipes: what it tells MirrorMaker 2 is theirs, but for what is of the place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import pytest

from offset_sync_demo.load.stamping_mirror import mirror_settings


@dataclass(frozen=True)
class Cluster:
    alias: str
    bootstrap_servers: str


def clusters(*aliases: str) -> dict[str, Cluster]:
    return {alias: Cluster(alias, f"{alias}:1") for alias in aliases}


def test_each_flow_copies_the_topics_of_its_source() -> None:
    settings = mirror_settings(clusters("dc1", "dc2"), {"dc1": ["both", "mine"], "dc2": ["both"]})
    assert settings["clusters"] == "dc1, dc2"
    assert settings["dc1.bootstrap.servers"] == "dc1:1"
    assert settings["dc1->dc2.topics"] == "both, mine"
    assert settings["dc2->dc1.topics"] == "both"
    assert "topics" not in settings


@pytest.mark.parametrize("aliases", [("dc1", "dc2"), ("dc1", "dc2", "dc3")])
def test_each_flow_leaves_out_copies_and_stamps_the_rest_as_the_recipe_says(aliases: tuple[str, ...]) -> None:
    settings = mirror_settings(clusters(*aliases), {alias: ["both"] for alias in aliases})
    for one, other in permutations(aliases, 2):
        assert settings[f"{one}->{other}.enabled"] == "true"
        assert settings[f"{one}->{other}.transforms"] == "origin"
        assert settings[f"{one}->{other}.transforms.origin.type"] == "offsetsync.connect.StampOrigin"
    assert {settings[f"{alias}.consumer.isolation.level"] for alias in aliases} == {"read_committed"}
    assert settings["replication.policy.class"].endswith("IdentityReplicationPolicy")
    assert [name for name in settings if name.endswith("plugin.path")] == [], "the jar is on the class path"
    # Else MirrorMaker would refuse its connectors.
    assert settings["emit.offset-syncs.enabled"] == "false"
    assert [name for name in settings if name.startswith("offset-syncs.")] == []
