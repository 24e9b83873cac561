"""Rows of the tables in a few words: what :mod:`generators.scripted_day` tells is made of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from builders.index_rows import run

OFFSETS_PARTITIONS = 4


def run_row(
    place: tuple[str, str, int], start: int, length: int, origin: str, origin_start: int, at: datetime, delay_s: int
) -> dict[str, Any]:
    """So many records of *origin* at a *place* (cluster, topic, partition), produced from *at* on."""
    times = {
        "min_timestamp": at,
        "max_timestamp": at + timedelta(seconds=1),
        "indexed_at": at + timedelta(seconds=delay_s),
    }
    return run(start, length, origin, origin_start, place=place) | times


def commit_row(
    cluster: str, group_id: str, topic: str, partition: int, offset: int | None, at: datetime, log_offset: int
) -> dict[str, Any]:
    """A commit record of a key; an *offset* of None is a tombstone. At dc2 only Offset Sync commits."""
    return {
        "cluster": cluster,
        "group_id": group_id,
        "topic": topic,
        "partition": partition,
        "committed_offset": offset,
        "metadata": "",
        "committed_at": at,
        "is_tombstone": offset is None,
        "is_own": cluster == "dc2",
        "log_partition": sum(group_id.encode()) % OFFSETS_PARTITIONS,
        "log_offset": log_offset,
        "captured_at": at + timedelta(seconds=1),
        "made_at": at,
    }


def translation_row(
    group_id: str, topic: str, partition: int, offset: int, committed_at: datetime, latency_ms: int
) -> dict[str, Any]:
    """An answer from dc1 to dc2, so long after the commit; what it says has still to be put in."""
    return {
        "source_cluster": "dc1",
        "target_cluster": "dc2",
        "group_id": group_id,
        "topic": topic,
        "stream": topic,
        "target_topic": topic,
        "partition": partition,
        "source_offset": offset,
        "source_committed_at": committed_at,
        "strategy": "exact",
        "timestamp_disordered": False,
        "translated_at": committed_at + timedelta(milliseconds=latency_ms),
    }


def status_row(group_id: str, topic: str, partition: int, at: datetime) -> dict[str, Any]:
    """A row of a report that finds nothing wrong; the offsets have still to be put in."""
    share = '{"dc1": 0.5, "dc2": 0.5}' if topic == "orders" else '{"dc1": 1.0}'
    return {
        "reported_at": at,
        "source_cluster": "dc1",
        "target_cluster": "dc2",
        "group_id": group_id,
        "topic": topic,
        "stream": topic,
        "target_topic": topic,
        "partition": partition,
        "status": "InSync",
        "state": "EXACT",
        "origin_share": share,
        "staleness_ms": 0,
        "is_target_active": False,
    }
