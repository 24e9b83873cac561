"""Topics whose partitions differ between clusters, those missing at a cluster, and MirrorMaker's own."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.newest_logs import asked, known_config, natives, record, said_at, said_between
from offset_sync.jobs.checks.asking import own_topics

CHECK = "MirrorMaker: "
NAMED: dict[str, Any] = {"topics": {"include": ["orders"]}}


def between(logs: dict[str, Any], aliases: tuple[str, ...] = ("dc1", "dc2"), **sections: Any) -> list[str]:
    found = said_between(known_config(aliases, **sections), {a: dict.fromkeys(each, ()) for a, each in logs.items()})
    return [each for each in found if "partitions: " in each]


def test_partitions_that_differ_are_told_with_their_numbers_and_the_rest_as_alike() -> None:
    assert between({"dc1": ["orders/2", "pay"], "dc2": ["orders/3", "pay"]}) == [
        "FAIL partitions: orders: 3 at dc1, 4 at dc2; the others are withheld as PARTITIONS_DIFFER: add "
        "partitions where there are fewer, and configure the mirror to keep each record's partition",
        "OK partitions: pay: the same number at all clusters",
    ]


def test_only_clusters_between_which_offsets_are_synced_have_to_agree() -> None:
    logs = {"dc1": ["orders"], "dc2": ["orders"], "dc3": ["orders/1"]}
    aliases = ("dc1", "dc2", "dc3")
    assert [each[:4] for each in between(logs, aliases)] == ["FAIL"]
    assert [each[:4] for each in between(logs, aliases, directions=[["dc1", "dc2"]])] == ["OK p"]


def test_copies_of_other_names_are_compared_with_their_originals() -> None:
    (found,) = between({"dc1": ["orders"], "dc2": ["dc1.orders/1"]}, mirror={"names": "mm2"})
    assert found.startswith("FAIL partitions: orders: 1 at dc1, 2 at dc2")


def test_a_topic_missing_at_a_cluster_is_reported_there() -> None:
    logs: dict[str, Any] = {"dc1": {"orders": (), "pay": ()}, "dc2": {"orders": ()}}
    absent = "WARN topics: pay: does not exist; it is not synced before it is created and mirrored"
    for include in ([".*"], ["orders", "pay"]):
        assert absent in said_at("dc2", known_config(topics={"include": include}), logs)
    assert [each for each in said_at("dc1", known_config(), logs) if "topics: " in each] == []
    assert [each for each in said_at("dc2", known_config(topics={"include": ["orders"]}), logs) if "pay" in each] == []


def test_a_topic_that_the_file_names_is_told_where_no_cluster_has_it() -> None:
    nowhere: dict[str, Any] = {"dc1": {}, "dc2": {}}
    for sections in (NAMED, {**NAMED, "mirror": {"names": "mm2"}}):
        assert said_at("dc2", known_config(**sections), nowhere)[0].startswith("WARN topics: orders: does not exist")
    assert "no included topic is visible; grant Describe" in said_at("dc2", known_config(), nowhere)[0]


def test_with_prefixes_a_topic_that_is_produced_elsewhere_need_not_be_here() -> None:
    logs: dict[str, Any] = {"dc1": {"orders": ()}, "dc2": {"dc1.orders": ()}}
    found = said_at("dc2", known_config(**NAMED, mirror={"names": "mm2"}), logs)
    assert [each for each in found if "topics: " in each] == []


def test_a_missing_copy_is_reported_by_the_name_that_it_would_have() -> None:
    logs: dict[str, Any] = {"dc1": {"orders": ()}, "dc2": {"pay": ()}}
    for include in (["orders", "pay"], [".*"]):
        config = known_config(topics={"include": include}, mirror={"names": "mm2"})
        assert "WARN topics: dc1.orders" in "".join(said_at("dc2", config, logs))
        assert "WARN topics: dc2.pay" in "".join(said_at("dc1", config, logs))


def at_dc2(*topics: str, **sections: Any) -> list[str]:
    found = said_at("dc2", known_config(**NAMED, **sections), {"dc1": {}, "dc2": dict.fromkeys(topics, ())})
    return [each.replace(CHECK, "") for each in found if CHECK in each]


@pytest.mark.parametrize(
    ("name", "is_own"),
    [
        ("mm2-offset-syncs.dc2.internal", True),
        ("mm2-configs.dc1.internal", True),
        ("dc1.checkpoints.internal", True),
        ("dc1_checkpoints_internal", True),
        ("heartbeats", True),
        ("dc1.heartbeats", True),
        ("ops.heartbeats", False),
        ("orders", False),
        ("checkpoints", False),
        ("my.internal", False),
    ],
)
def test_its_own_topics_are_known_by_their_names(name: str, is_own: bool) -> None:
    config = known_config()
    assert [*own_topics(config, asked(config, {"dc2": {name: []}})["dc2"])] == [name] * is_own


def test_nothing_is_said_where_it_writes_no_checkpoints() -> None:
    assert at_dc2("orders", "heartbeats", "mm2-offset-syncs.dc1.internal") == []


@pytest.mark.parametrize("names", ["same", "mm2"])
def test_where_it_writes_checkpoints_the_setting_of_its_group_sync_is_named(names: str) -> None:
    assert at_dc2("heartbeats", "dc1.checkpoints.internal", mirror={"names": names}) == [
        "SKIP dc1.checkpoints.internal: whether its group sync is on cannot be seen here; set "
        "sync.group.offsets.enabled=false: docs/mirrors.md, Moving over from MirrorMaker's group sync"
    ]


def test_its_own_topics_that_are_included_are_told_and_not_looked_at() -> None:
    found = said_at("dc2", known_config(), {"dc1": {}, "dc2": {"heartbeats": natives(3), "orders": natives(2)}})
    assert (
        "WARN MirrorMaker: heartbeats: MirrorMaker's own, and included: it is never mirrored; add it to topics.exclude"
    ) in found
    assert [each for each in found if "mirror headers" in each and "heartbeats" in each] == []


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("__amazon_msk_replicator_offsets_my-replicator_a1b2-1", "MSK Replicator: whether it writes offsets of groups"),
        ("__k2k_consumer-offsets", "Lenses K2K: whether it writes offsets of groups"),
        ("_confluent-link-metadata", "Cluster Linking: whether it writes offsets of groups"),
        ("__amazon_msk_canary", ""),
        ("amazon_msk_replicator_offsets", ""),
    ],
)
def test_other_mirrors_are_recognised_by_their_own_topics(topic: str, found: str) -> None:
    said = said_at("dc2", known_config(**NAMED), {"dc1": {"orders": ()}, "dc2": {"orders": (), topic: ()}})
    others = [each for each in said if "other mirrors: " in each]
    assert [each.startswith(f"SKIP other mirrors: {topic}: {found}") for each in others] == [True] * bool(found)


def test_other_mirrors_are_recognised_by_the_headers_of_their_copies() -> None:
    copies = [record(0), record(1, {"__mskmr": b"id"})]
    said = said_at("dc2", known_config(**NAMED), {"dc1": {"orders": ()}, "dc2": {"orders": copies}})
    (other,) = [each for each in said if "other mirrors: " in each]
    assert other == (
        "SKIP other mirrors: orders: MSK Replicator: whether it writes offsets of groups too cannot be seen here; set "
        "synchroniseConsumerGroupOffsets=false: docs/mirrors-presets.md"
    )
