"""docs/mirrors-steps.md: its commands make MirrorMaker's settings, and its configurations are taken, in three ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync.config import Config
from offset_sync.config.load import parse_config
from tools.mirror_steps import REPO, WAYS, configuration_tree, mirror_properties, read_properties

RECIPE = read_properties((REPO / "conf" / "mirrors" / "two-clusters.properties").read_text())
LEFT_OUT = {"A": (), "B": ("policy.class",), "C": ("policy.class", "transforms", "plugin.path")}


def configuration(way: str) -> Config:
    return parse_config(configuration_tree(way), {})


@pytest.mark.parametrize("way", WAYS)
def test_the_commands_leave_out_of_the_recipe_what_the_way_does_not_have_and_nothing_else(
    way: str, tmp_path: Path
) -> None:
    kept = {key: value for key, value in RECIPE.items() if not any(word in key for word in LEFT_OUT[way])}
    assert read_properties(mirror_properties(way, tmp_path)) == kept
    assert len(RECIPE) - len(kept) == {"A": 0, "B": 1, "C": 7}[way]


def test_the_configurations_are_taken_and_differ_in_names_and_in_what_tells_copies() -> None:
    a, b, c = map(configuration, WAYS)
    assert (a.names.is_same, b.names.is_same, c.names.is_same) == (True, False, False)
    assert (a.is_stamped, b.is_stamped, c.is_stamped) == (True, True, False)
    assert [each.mirror.place_header for each in (a, b, c)] == ["Place", "Place", ""]
    assert {each.names.topic("dc2", "dc1.orders") for each in (b, c)} == {"dc1.orders"}
