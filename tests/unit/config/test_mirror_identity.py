"""``mirror.identity``: headers tell which record is which, or contents, where one origin can be told by other means."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError

TREE: dict[str, Any] = {
    "clusters": {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in ("dc1", "dc2", "dc3")},
    "topics": {"include": ["orders"]},
}
HUB = {"identity": "fingerprint", "flows": [["dc1", "dc2"], ["dc1", "dc3"]], "exclusive": True}
PREFIXES = {"identity": "fingerprint", "names": "mm2"}


def read(mirror: dict[str, Any], **more: Any) -> Config:
    return parse_config(TREE | {"mirror": mirror} | more, {})


def problems(mirror: dict[str, Any], **more: Any) -> list[str]:
    with pytest.raises(ConfigError) as found:
        read(mirror, **more)
    return str(found.value).splitlines()


def test_headers_are_what_counts_unless_something_else_is_said() -> None:
    found = parse_config(TREE, {})
    assert found.mirror.identity == "headers"
    assert not found.is_by_contents
    assert found.origin_of("orders") is None


def test_prefixes_say_where_a_stream_is_produced() -> None:
    found = read(PREFIXES)
    assert found.is_by_contents
    assert [found.origin_of(f"{alias}.orders") for alias in ("dc1", "dc2", "dc3")] == ["dc1", "dc2", "dc3"]
    assert found.is_topic_included("dc2.orders")


@pytest.mark.parametrize("flows", [[["dc1", "dc2"], ["dc1", "dc3"]], [["dc2", "dc3"], ["dc1", "dc2"]]])
def test_flows_say_it_where_copies_have_the_names_of_their_originals(flows: list[list[str]]) -> None:
    found = read(HUB | {"flows": flows})
    assert found.origin_of("orders") == "dc1"
    assert found.strategy_of("orders") == "exact"


def test_a_topic_that_no_rule_renames_is_left_out_unless_flows_say_where_it_is_produced() -> None:
    rules = [{"from": "dc2", "to": "dc1", "topics": "orders", "name": "{topic}-replica"}]
    topics = {"include": ["orders", "pay"]}
    found = read({"identity": "fingerprint", "names": rules}, topics=topics)
    assert (found.origin_of("dc2/orders"), found.strategy_of("dc2/orders")) == ("dc2", "exact")
    assert (found.origin_of("pay"), found.strategy_of("pay")) == (None, "off")
    both = read(HUB | {"names": rules}, topics=topics)
    assert (both.origin_of("dc2/orders"), both.origin_of("pay"), both.strategy_of("pay")) == ("dc2", "dc1", "exact")


def test_what_is_known_of_the_mirror_has_defaults() -> None:
    mirror = read(PREFIXES).mirror
    assert (mirror.order, mirror.keeps, mirror.slack) == ("kept", ("timestamps", "headers"), 1_000)
    assert (mirror.resend_window, mirror.resend_records) == (timedelta(hours=1), 1_000_000)
    assert mirror.hold == timedelta(seconds=10)
    assert read(PREFIXES | {"keeps": [], "order": "any"}).mirror.keeps == ()


@pytest.mark.parametrize(
    ("mirror", "problem"),
    [
        ({"identity": "fingerprint"}, "mirror.flows: is needed .*write \\[\\[source, target\\], …\\]"),
        (PREFIXES | {"flows": [["dc1", "dc2"]]}, "mirror.flows: is what the names of copies say"),
        (HUB | {"exclusive": False}, "mirror.exclusive: has to be said"),
        (HUB | {"flows": [["dc1", "dc2"]]}, "mirror.flows: does not lead from one cluster to all others"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc2", "dc1"], ["dc1", "dc3"]]}, "mirror.flows: does not lead from one"),
        (HUB | {"flows": [["dc1", "dc2"], ["dc3", "dc2"]]}, r"mirror.flows\[1\]: is a second flow into dc2"),
        (HUB | {"flows": [["dc1", "dc9"]]}, r"mirror.flows\[0\]: no cluster 'dc9'"),
        (HUB | {"flows": [["dc1", "dc1"]]}, r"mirror.flows\[0\]: source and target are the same cluster"),
        (HUB | {"flows": ["dc1"]}, r"mirror.flows\[0\]: is no pair of clusters; write"),
        (HUB | {"flows": "dc1"}, "mirror.flows: must be a list; write"),
        (HUB | {"place_header": "Place"}, "mirror.place_header: is no header that anybody looks at"),
        ({"flows": [["dc1", "dc2"]]}, "mirror.flows: is of mirror.identity: fingerprint"),
        ({"exclusive": True}, "mirror.exclusive: is of mirror.identity: fingerprint"),
    ],
)
def test_what_could_not_be_told_is_refused_with_the_remedy(mirror: dict[str, Any], problem: str) -> None:
    found = problems(mirror)
    assert any(re.search(problem, line) for line in found), found


@pytest.mark.parametrize("strategy", ["timestamp", "header"])
def test_other_strategies_do_not_go_by_contents(strategy: str) -> None:
    assert any(
        "topics.strategy: " in each for each in problems(PREFIXES, topics={"include": ["orders"], "strategy": strategy})
    )
    overrides = [{"topics": ["pay"], "strategy": strategy}]
    topics = {"include": ["orders"], "overrides": overrides}
    assert any("topics.overrides[0].strategy" in each for each in problems(PREFIXES, topics=topics))
