"""The section ``mirror`` where contents tell which record is which: what is asked for, and what could not be told."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Config

THREE = clusters("dc1", "dc2", "dc3")
HUB = {"identity": "fingerprint", "flows": [["dc1", "dc2"], ["dc1", "dc3"]], "exclusive": True}
PREFIXES = {"identity": "fingerprint", "names": "mm2"}


def mirrored(mirror: dict[str, Any], known: dict[str, Any] = THREE, **sections: Any) -> Config:
    return parsed(clusters=known, mirror=mirror, **sections)


def mirror_problems(mirror: dict[str, Any], known: dict[str, Any] = THREE, **sections: Any) -> list[str]:
    return problems(clusters=known, mirror=mirror, **sections)


def test_headers_are_what_counts_unless_something_else_is_said() -> None:
    found = parsed()
    assert found.mirror.identity == "headers"
    assert not found.is_by_contents
    assert found.origin_of("orders") is None


def test_prefixes_say_where_a_stream_is_produced() -> None:
    found = mirrored(PREFIXES, THREE)
    assert found.is_by_contents
    assert [found.origin_of(f"{alias}.orders") for alias in ("dc1", "dc2", "dc3")] == ["dc1", "dc2", "dc3"]
    assert found.is_topic_included("dc2.orders")


@pytest.mark.parametrize("flows", [[["dc1", "dc2"], ["dc1", "dc3"]], [["dc2", "dc3"], ["dc1", "dc2"]]])
def test_flows_say_it_where_copies_have_the_names_of_their_originals(flows: list[list[str]]) -> None:
    found = mirrored(HUB | {"flows": flows}, THREE)
    assert found.origin_of("orders") == "dc1"
    assert found.strategy_of("orders") == "exact"


def test_what_is_known_of_the_mirror_has_defaults() -> None:
    mirror = mirrored(PREFIXES, THREE).mirror
    assert (mirror.order, mirror.keeps, mirror.slack) == ("kept", ("timestamps", "headers"), 1_000)
    assert (mirror.resend_window, mirror.resend_records) == (timedelta(hours=1), 1_000_000)
    assert mirror.hold == timedelta(seconds=10)
    assert mirrored(PREFIXES | {"keeps": [], "order": "any"}, THREE).mirror.keeps == ()


@pytest.mark.parametrize(
    ("mirror", "problem"),
    [
        ({"identity": "fingerprint"}, "mirror.flows: is needed .*write \\[\\[source, target\\], …\\]"),
        (PREFIXES | {"flows": [["dc1", "dc2"]]}, "mirror.flows: follows from the names of copies"),
        (HUB | {"exclusive": False}, "mirror.exclusive: is required where"),
        (HUB | {"flows": [["dc1", "dc2"]]}, "mirror.flows: does not lead from one cluster to all others"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc2", "dc1"], ["dc1", "dc3"]]}, "mirror.flows: does not lead from one"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc3", "dc2"]]}, r"mirror.flows\[1\]: is a second flow into dc2"),
        (HUB | {"flows": [["dc1", "dc9"]]}, r"mirror.flows\[0\]: no cluster 'dc9'"),
        (HUB | {"flows": [["dc1", "dc1"]]}, r"mirror.flows\[0\]: source and target are the same cluster"),
        (HUB | {"flows": ["dc1"]}, r"mirror.flows\[0\]: is no pair of clusters; write"),
        (HUB | {"flows": "dc1"}, "mirror.flows: must be a list; write"),
        (HUB | {"place_header": "Place"}, "mirror.place_header: is not read with mirror.identity"),
        ({"flows": [["dc1", "dc2"]]}, "mirror.flows: is of mirror.identity: fingerprint"),
        ({"exclusive": True}, "mirror.exclusive: is of mirror.identity: fingerprint"),
    ],
)
def test_what_could_not_be_told_is_refused_with_the_remedy(mirror: dict[str, Any], problem: str) -> None:
    found = mirror_problems(mirror, THREE)
    assert any(re.search(problem, line) for line in found), found


@pytest.mark.parametrize("strategy", ["timestamp", "header"])
def test_other_strategies_do_not_go_by_contents(strategy: str) -> None:
    assert any(
        "topics.strategy: " in each
        for each in mirror_problems(PREFIXES, THREE, topics={"include": ["orders"], "strategy": strategy})
    )
    overrides = [{"topics": ["pay"], "strategy": strategy}]
    topics = {"include": ["orders"], "overrides": overrides}
    assert any("topics.overrides[0].strategy" in each for each in mirror_problems(PREFIXES, THREE, topics=topics))
