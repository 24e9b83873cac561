"""MirrorMaker shows by its own topics; whether it writes offsets of groups by its checkpoints."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fakes.newest_logs import asked, found_at, known_config, natives, record, said_at
from offset_sync.jobs.checks.mirror_maker import is_own_topic
from offset_sync.jobs.checks.mirrors import check_mirrors
from offset_sync.kafka.partition_answer import Committed
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.values import RecordContent, TopicPartition

CHECK = "MirrorMaker: "
NAMED: dict[str, Any] = {"topics": {"include": ["orders"]}}
PLACE = TopicPartition("orders", 0)


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
    assert is_own_topic(name, ["dc1", "dc2"]) is is_own


def test_nothing_is_said_where_it_is_not() -> None:
    assert at_dc2({"orders": natives(3)}) == []


def test_without_checkpoints_it_writes_no_offsets() -> None:
    assert at_dc2({"heartbeats": natives(3), "dc1.checkpoints.internal": []}) == [
        "OK dc1.checkpoints.internal, heartbeats: no checkpoint of a group here, so it has no sync of groups of its own"
    ]


def test_checkpoints_that_stand_as_offsets_of_groups_are_told() -> None:
    topics = {"dc1.checkpoints.internal": CHECKPOINTS}
    (found,) = at_dc2(topics, {"billing": {PLACE: Committed(9, "")}})
    assert found.startswith(
        "WARN dc1.checkpoints.internal: the offsets of billing are those of its checkpoints (1 of 2): it writes "
        "offsets of groups, unless they have read up to there here too; set sync.group.offsets.enabled=false before"
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
    assert found.startswith("OK dc1.checkpoints.internal: it makes checkpoints, and no offset of a group")


def test_checkpoints_that_may_not_be_read_are_skipped_and_records_that_are_none_left_out() -> None:
    config = known_config(**NAMED)
    clusters = asked(config, {"dc1": {}, "dc2": {"dc1.checkpoints.internal": CHECKPOINTS}})
    closed = {**clusters, "dc2": replace(clusters["dc2"], readable=[])}
    (found,) = [each for each in found_at(check_mirrors(config, closed).clusters, "dc2") if CHECK in each]
    assert found.startswith("SKIP MirrorMaker: dc1.checkpoints.internal: may not be read; if its group sync writes")
    odd = [record(0), TailRecord(RecordContent(1, 0, None, None)), *CHECKPOINTS[2:]]
    assert at_dc2({"dc1.checkpoints.internal": odd})[0].startswith("OK")


def test_checkpoints_that_may_be_there_are_told_with_the_right_that_is_missing() -> None:
    """Without it MirrorMaker's commits would pass for those of the groups."""
    config = known_config(**NAMED)
    clusters = asked(config, {"dc1": {}, "dc2": {"heartbeats": natives(3)}})
    hidden = {**clusters, "dc2": replace(clusters["dc2"], hidden=["dc1.checkpoints.internal"])}
    (found,) = [each for each in found_at(check_mirrors(config, hidden).clusters, "dc2") if CHECK in each]
    assert found.startswith("SKIP MirrorMaker: dc1.checkpoints.internal: may not be read; if its group sync writes")
    assert "grant Read" in found


@pytest.mark.parametrize(
    ("names", "copy"),
    [("mm2", "dc1.orders"), ([{"from": "dc1", "to": "dc2", "topics": "orders", "name": "{topic}.x"}], "orders.x")],
)
def test_checkpoints_have_the_names_of_their_cluster(names: Any, copy: str) -> None:
    config = known_config(**NAMED, mirror={"names": names})
    logs = {"dc1": {}, "dc2": {"dc1.checkpoints.internal": [checkpoint(0, "billing", copy, 9)]}}
    held = {"dc2": {"billing": {TopicPartition(config.names.inside("dc2", copy), 0): Committed(9, "")}}}
    assert [each[:4] for each in said_at("dc2", config, logs, committed=held) if CHECK in each] == ["WARN"]


def test_its_own_topics_that_are_included_are_told_and_not_looked_at() -> None:
    found = said_at("dc2", known_config(), {"dc1": {}, "dc2": {"heartbeats": natives(3), "orders": natives(2)}})
    assert (
        "WARN MirrorMaker: heartbeats: MirrorMaker's own, and included: nothing of it is ever mirrored; add it to "
        "topics.exclude"
    ) in found
    assert [each for each in found if "mirror headers" in each and "heartbeats" in each] == []
