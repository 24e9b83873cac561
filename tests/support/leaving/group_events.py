"""Rows of ``group_events`` about streams and share groups."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.tables.catalog import GROUP_EVENTS

Event = tuple[str, str | None]
"""Kind and member."""
JOINED: tuple[Event, ...] = (("streams_member", "m1"), ("streams", None), ("streams_member", "m2"))
LEFT: tuple[Event, ...] = (("streams_member_removed", "m1"), ("streams_member_removed", "m2"), ("streams", None))
"""A group of the streams protocol gets two members, and loses them."""


def at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def rows(
    *events: Event, group: str = "g", first: int = 0, partition: int = 1, cluster: str = "X", captured_ms: int = 50
) -> pa.Table:
    """Return events of a group, kind and member, as rows; their offsets begin with *first*."""
    same = {"cluster": cluster, "group_id": group, "log_partition": partition, "captured_at": at(captured_ms)}
    found = [
        same | {"kind": kind, "member_id": member, "log_offset": offset}
        for offset, (kind, member) in enumerate(events, first)
    ]
    return pa.Table.from_pylist(found, GROUP_EVENTS.arrow_schema)
