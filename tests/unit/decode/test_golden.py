"""Records whose meaning others have stated: the specification, and Kafka's own tools."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from uuid import UUID

import pytest

from oracles.decode_check import Raw, Row, decode, not_null

GOLDEN = Path(__file__).parents[2] / "golden"


def load(name: str) -> list[Row]:
    records: list[Row] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))["records"]
    return records


def raw(record: Row) -> Raw:
    return bytes.fromhex(record["key"]), None if record["value"] is None else bytes.fromhex(record["value"])


WORKED = load("worked-examples.json")
CAPTURED = load("captured-4.3.0.json") + load("captured-groups-4.3.0.json")


@pytest.mark.parametrize("record", WORKED, ids=[record["name"] for record in WORKED])
def test_a_worked_example_means_what_the_specification_says(record: Row) -> None:
    assert not_null(decode([raw(record)])[0]) == record["expect"]


@pytest.mark.parametrize("rest", [b"", b"\0\1\2"])
def test_captured_records_mean_what_kafkas_own_decoder_prints_whatever_is_behind_them(rest: bytes) -> None:
    rows = decode([(key, value and value + rest) for key, value in map(raw, CAPTURED)])
    assert [not_null(row) for row in rows] == [not_null(kafka_meaning(record["kafka"])) for record in CAPTURED]


def kafka_meaning(printed: Row) -> Row:
    """Translate what DumpLogSegments prints to our columns."""
    record_type, key = int(printed["key"]["type"]), printed["key"]["data"]
    value = printed["value"] and printed["value"]["data"]
    kinds = {1: "commit", 2: "group", 3: "group_epoch", 5: "member"}
    row = {"kind": kinds.get(record_type, "ignored"), "is_tombstone": value is None, "record_type": record_type}
    if row["kind"] == "ignored":
        return row
    row |= {"group_id": key.get("group", key.get("groupId")), "member_id": key.get("memberId")}
    row |= {"topic": key.get("topic"), "partition": key.get("partition")}
    if value and record_type == 1:
        row |= {"committed_offset": value["offset"], "metadata": value["metadata"]}
        row |= {"leader_epoch": None if value["leaderEpoch"] < 0 else value["leaderEpoch"]}
        row |= {"committed_at_ms": value["commitTimestamp"], "topic_id": canonical(value.get("topicId"))}
    if value and record_type == 2:
        row |= {"generation": value["generation"], "members": len(value["members"])}
        row |= {"protocol_type": value["protocolType"]}
    if value and record_type == 3:
        row |= {"generation": value["epoch"]}
    return row


def canonical(topic_id: str | None) -> str | None:
    """Turn Kafka's 22 characters of base64 into the canonical text."""
    return None if topic_id is None else str(UUID(bytes=base64.urlsafe_b64decode(topic_id + "==")))


def test_every_truncation_of_a_golden_commit_is_malformed() -> None:
    read = [
        (key, value) for key, value in map(raw, WORKED + CAPTURED) if value and key and key[:2] in (b"\0\0", b"\0\1")
    ]
    cut = [(key, value[:size]) for key, value in read for size in range(len(value))]
    rows = decode(cut)
    assert len(rows) > 800
    assert {row["kind"] for row in rows} == {"malformed"}
    assert all(row["error"].startswith("value: ") and row["group_id"] is not None for row in rows)
