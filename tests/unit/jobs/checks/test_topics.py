"""Topics whose partitions differ between clusters, those missing at a cluster, and MirrorMaker's own."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fakes.newest_logs import asked, known_config, natives, record, said_at, said_between, told
from offset_sync.jobs.checks.asking import own_topics
from offset_sync.kafka.requests import Committed, NotAuthorizedError
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.values import RecordContent, TopicPartition

CHECK = "MirrorMaker: "
NAMED: dict[str, Any] = {"topics": {"include": ["orders"]}}
PLACE = TopicPartition("orders", 0)


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


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def checkpoint(offset: int, group: str, topic: str, translated: int) -> TailRecord:
    key = text(group) + text(topic) + struct.pack(">i", 0)
    value = struct.pack(">hqq", 0, 1_000, translated) + text("")
    return TailRecord(RecordContent(offset, 0, key, value))


CHECKPOINTS = [checkpoint(0, "billing", "orders", 5), checkpoint(1, "billing", "orders", 9), checkpoint(2, "x", "a", 4)]


def at_dc2(
    topics: Mapping[str, Any],
    committed: Mapping[str, Mapping[TopicPartition, Committed]] | None = None,
    **sections: Any,
) -> list[str]:
    config = known_config(**{**NAMED, **sections})
    found = said_at("dc2", config, {"dc1": {}, "dc2": topics}, committed={"dc2": committed or {}})
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


def test_nothing_is_said_where_it_is_not() -> None:
    assert at_dc2({"orders": natives(3)}) == []


def test_without_checkpoints_it_writes_no_offsets() -> None:
    assert at_dc2({"heartbeats": natives(3), "dc1.checkpoints.internal": []}) == [
        "OK dc1.checkpoints.internal, heartbeats: it has no checkpoint of a group here, so it syncs no groups"
    ]


def test_checkpoints_that_equal_offsets_of_groups_are_reported() -> None:
    topics = {"dc1.checkpoints.internal": CHECKPOINTS}
    (found,) = at_dc2(topics, {"billing": {PLACE: Committed(9, "")}})
    assert found.startswith(
        "WARN dc1.checkpoints.internal: the offsets of billing are those of its checkpoints (1 of 2): it writes "
        "offsets of groups, unless the groups have read up to there at this cluster too; set "
        "sync.group.offsets.enabled=false first"
    )


@pytest.mark.parametrize(
    "committed",
    [
        {},
        {"billing": {PLACE: Committed(5, "")}},  # an older checkpoint
        {"billing": {PLACE: Committed(9, "", leader_epoch=3)}},  # ours
        {"others": {PLACE: Committed(9, "")}},
    ],
)
def test_other_offsets_are_none_of_its_own(committed: Any) -> None:
    (found,) = at_dc2({"dc1.checkpoints.internal": CHECKPOINTS}, committed)
    assert found.startswith("OK dc1.checkpoints.internal: it writes checkpoints, and no group offset equals one")


def test_checkpoints_that_may_not_be_read_are_skipped_and_records_that_are_none_left_out() -> None:
    config = known_config(**NAMED)
    clusters = asked(config, {"dc1": {}, "dc2": {"dc1.checkpoints.internal": CHECKPOINTS}})
    closed = {**clusters, "dc2": replace(clusters["dc2"], topics={"dc1.checkpoints.internal": frozenset({"DESCRIBE"})})}
    (found,) = [each for each in told(config, closed)["clusters.dc2"] if CHECK in each]
    assert found.startswith("SKIP MirrorMaker: dc1.checkpoints.internal: may not be read; if its group sync writes")
    odd = [record(0), TailRecord(RecordContent(1, 0, None, None)), *CHECKPOINTS[2:]]
    assert at_dc2({"dc1.checkpoints.internal": odd})[0].startswith("OK")


def test_checkpoints_that_may_be_there_are_told_with_the_right_that_is_missing() -> None:
    """Without it MirrorMaker's commits would pass for those of the groups."""
    config = known_config(**NAMED)
    clusters = asked(config, {"dc1": {}, "dc2": {"heartbeats": natives(3)}})
    refused = {"dc1.checkpoints.internal": NotAuthorizedError("dc2", "dc1.checkpoints.internal")}
    hidden = {**clusters, "dc2": replace(clusters["dc2"], topics=refused)}
    (found,) = [each for each in told(config, hidden)["clusters.dc2"] if CHECK in each]
    assert found.startswith("SKIP MirrorMaker: dc1.checkpoints.internal: may not be read; if its group sync writes")
    assert "grant Read" in found


def test_checkpoints_have_the_names_of_their_cluster() -> None:
    config = known_config(**NAMED, mirror={"names": "mm2"})
    logs = {"dc1": {}, "dc2": {"dc1.checkpoints.internal": [checkpoint(0, "billing", "dc1.orders", 9)]}}
    held = {"dc2": {"billing": {TopicPartition(config.names.inside("dc2", "dc1.orders"), 0): Committed(9, "")}}}
    assert [each[:4] for each in said_at("dc2", config, logs, committed=held) if CHECK in each] == ["WARN"]


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
