"""The options below ``extensions.contents``: what is asked for, and what could not be told."""

from __future__ import annotations

import re
from typing import Any

import pytest

from builders.configurations import clusters, parsed, problems
from offset_sync_contents.settings import contents_of, origin_of

THREE = clusters("dc1", "dc2", "dc3")
HUB = {"flows": [["dc1", "dc2"], ["dc1", "dc3"]], "exclusive": True}
PREFIXES = {"names": "mm2"}


def test_prefixes_or_flows_say_where_a_stream_is_produced() -> None:
    found = parsed(clusters=THREE, mirror=PREFIXES, extensions={"contents": {"keeps": [], "resend_window": "3h"}})
    assert not found.is_stamped
    assert [origin_of(found, f"{alias}.orders") for alias in THREE] == [*THREE]
    assert (contents_of(found).keeps, contents_of(found).to_settings().resend_ms) == ((), 3 * 3_600_000)
    for flows in ([["dc1", "dc2"], ["dc1", "dc3"]], [["dc2", "dc3"], ["dc1", "dc2"]]):
        found = parsed(clusters=THREE, extensions={"contents": HUB | {"flows": flows}})
        assert origin_of(found, "orders") == "dc1"


@pytest.mark.parametrize(
    ("options", "mirror", "problem"),
    [
        ({}, {}, "extensions.contents.flows: is needed .*write \\[\\[source, target\\], …\\]"),
        ({"flows": [["dc1", "dc2"]]}, PREFIXES, "extensions.contents.flows: follows from the names of copies"),
        (HUB | {"exclusive": False}, {}, "extensions.contents.exclusive: is required where"),
        (HUB | {"flows": [["dc1", "dc2"]]}, {}, "extensions.contents.flows: does not lead from one cluster to all"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc2", "dc1"], ["dc1", "dc3"]]}, {}, "flows: does not lead from one"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc3", "dc2"]]}, {}, r"flows\[1\]: is a second flow into dc2"),
        (HUB | {"flows": [["dc1", "dc9"]]}, {}, r"flows\[0\]: no cluster 'dc9'"),
        (HUB | {"flows": "dc1"}, {}, "extensions.contents.flows: must be a list; write"),
        (HUB, {"place_header": "Place"}, "mirror.place_header: is not read with extensions.contents"),
        (HUB | {"keep": []}, {}, "extensions.contents.keep: unknown key; did you mean keeps?"),
        (HUB | {"hold": "soon"}, {}, "extensions.contents.hold: 'soon' is not a duration"),
    ],
)
def test_what_could_not_be_told_is_refused_with_the_remedy(
    options: dict[str, Any], mirror: dict[str, Any], problem: str
) -> None:
    found = problems(clusters=THREE, mirror=mirror, extensions={"contents": options})
    assert any(re.search(problem, line) for line in found), found


@pytest.mark.parametrize("strategy", ["timestamp", "header"])
def test_other_strategies_do_not_go_by_contents(strategy: str) -> None:
    topics = {"include": ["orders"], "strategy": strategy, "overrides": [{"topics": ["pay"], "strategy": strategy}]}
    found = problems(clusters=THREE, mirror=PREFIXES, extensions={"contents": {}}, topics=topics)
    assert [each.partition(":")[0] for each in found] == ["topics.strategy", "topics.overrides[0].strategy"]
