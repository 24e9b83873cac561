"""MirrorMaker 2 both ways: what is a copy already is not copied back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from two_way_mirror import both_ways


@dataclass(frozen=True)
class Cluster:
    alias: str
    bootstrap_servers: str


def test_each_flow_leaves_out_copies_and_stamps_the_rest() -> None:
    clusters = {"dc1": Cluster("dc1", "one:1"), "dc2": Cluster("dc2", "two:2")}
    text = both_ways(clusters, {"dc1": ["both", "mine"], "dc2": ["both"]})
    settings = dict(line.split(" = ") for line in text.splitlines())
    assert settings["clusters"] == "dc1, dc2"
    assert settings["dc1->dc2.topics"] == "both, mine"
    assert settings["dc2->dc1.topics"] == "both"
    for flow in ("dc1->dc2", "dc2->dc1"):
        assert settings[f"{flow}.transforms"] == "origin"
        assert settings[f"{flow}.transforms.origin.type"] == "offsetsync.connect.StampOrigin"
