"""docs/mirrors-steps.md: its configurations are taken, in three ways."""

from __future__ import annotations

from offset_sync.config.load import parse_config
from tools.mirror_steps import WAYS, configuration_tree


def test_the_configurations_are_taken_and_differ_in_names_and_in_what_tells_copies() -> None:
    a, b, c = (parse_config(configuration_tree(way), {}) for way in WAYS)
    assert (a.names.is_same, b.names.is_same, c.names.is_same) == (True, False, False)
    assert (a.is_stamped, b.is_stamped, c.is_stamped) == (True, True, False)
    assert [each.mirror.place_header for each in (a, b, c)] == ["Place", "Place", ""]
