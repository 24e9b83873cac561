"""docs/mirrors-steps.md: its commands make MirrorMaker's settings, and its configurations are taken, in three ways."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from offset_sync.config import Config
from offset_sync.config.load import parse_config

REPO = Path(__file__).resolve().parents[3]
PAGE = (REPO / "docs" / "mirrors-steps.md").read_text()
WAYS = ("A", "B", "C")
RECIPE = "conf/mirrors/two-clusters.properties"
LEFT_OUT = {"A": (), "B": ("policy.class",), "C": ("policy.class", "transforms", "plugin.path")}


def blocks(kind: str = "") -> list[str]:
    """Return the blocks of code of one kind, in order."""
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)


def commands_of(way: str) -> str:
    """Return the commands that make mm2.properties."""
    (block,) = (each for each in blocks() if "> mm2.properties" in each)
    return re.split(r"^# [A-C]\n", block, flags=re.MULTILINE)[1 + WAYS.index(way)]


def properties(text: str) -> dict[str, str]:
    """Return the settings that stand in a file of properties, without those that are comments."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {key: value for key, _, value in (line.partition(" = ") for line in lines)}


def made(way: str, folder: Path) -> str:
    """Run the page's commands in a copy of what they need; return mm2.properties."""
    (folder / "conf").symlink_to(REPO / "conf")
    subprocess.run(["bash", "-ec", commands_of(way)], cwd=folder, check=True)
    return (folder / "mm2.properties").read_text()


def configuration(way: str) -> Config:
    """Return what the page says of Offset Sync's configuration: the first block is A's, others replace `mirror`."""
    first, *others = map(yaml.safe_load, blocks("yaml"))
    return parse_config({**first, **(others[WAYS.index(way) - 1] if way != "A" else {})}, {})


@pytest.mark.parametrize("way", WAYS)
def test_the_commands_leave_out_of_the_recipe_what_the_way_does_not_have_and_nothing_else(
    way: str, tmp_path: Path
) -> None:
    recipe = properties((REPO / RECIPE).read_text())
    kept = {key: value for key, value in recipe.items() if not any(word in key for word in LEFT_OUT[way])}
    assert properties(made(way, tmp_path)) == kept
    assert len(recipe) - len(kept) == {"A": 0, "B": 1, "C": 7}[way]


@pytest.mark.parametrize("way", WAYS)
def test_the_last_four_lines_are_what_a_cluster_of_one_broker_needs(way: str, tmp_path: Path) -> None:
    assert "the `#` of its last four lines" in re.sub(r"\s+", " ", PAGE)
    lines = made(way, tmp_path).splitlines()[-4:]
    assert all(line.startswith("#") for line in lines)
    names = {"replication.factor", *(f"{kind}.storage.replication.factor" for kind in ("config", "offset", "status"))}
    assert properties("\n".join(line[1:] for line in lines)) == dict.fromkeys(names, "1")


def test_the_configurations_are_taken_and_differ_in_names_and_in_what_tells_copies() -> None:
    a, b, c = map(configuration, WAYS)
    assert (a.names.is_same, b.names.is_same, c.names.is_same) == (True, False, False)
    assert (a.is_by_contents, b.is_by_contents, c.is_by_contents) == (False, False, True)
    assert [each.mirror.place_header for each in (a, b, c)] == ["Place", "Place", ""]
    assert {each.names.topic("dc2", "dc1.orders") for each in (b, c)} == {"dc1.orders"}


def test_mirror_maker_and_offset_sync_are_told_the_same_clusters_and_topics() -> None:
    recipe = properties((REPO / RECIPE).read_text())
    for way in WAYS:
        config = configuration(way)
        assert ", ".join(config.clusters) == recipe["clusters"]
        servers = {alias: str(each.kafka["bootstrap.servers"]) for alias, each in config.clusters.items()}
        assert servers == {alias: recipe[f"{alias}.bootstrap.servers"] for alias in config.clusters}
        streams = [config.names.stream("dc1", topic) or "" for topic in ("orders", "pay-eu")]
        assert [config.is_topic_included(stream) for stream in streams] == [True, True]
        assert recipe["topics"] == "orders, pay-.*"


def test_a_move_is_planned_applied_and_verified_and_the_way_back_is_written_out() -> None:
    moves = re.findall(r"cutover (\w+) +--conf my.yaml --from (\w+) --to (\w+) --groups billing ?(--\w+)?", PAGE)
    planned = [("plan", "--planned"), ("apply", "--planned"), ("verify", "")]
    disaster = [("plan", "--disaster"), ("apply", "--disaster")]
    there, back = ("dc1", "dc2"), ("dc2", "dc1")
    wanted = [(there, planned), (there, disaster), (back, planned)]
    assert moves == [(action, *way, mode) for way, steps in wanted for action, mode in steps]


@pytest.mark.parametrize("page", ["mirrors.md", "mirrors-names.md", "mirrors-contents.md"])
def test_the_pages_of_each_way_lead_there(page: str) -> None:
    assert "(mirrors-steps.md)" in (REPO / "docs" / page).read_text()
