"""Rows of the index tables as a few words, for tests of what is made of them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from fakes.tables import MemoryTables
from offset_sync.tables.catalog import TRUNCATED
from offset_sync.tables.definition import Table

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LogKey = tuple[str, str, int]


def run(
    start: int,
    length: int,
    origin: str = "X",
    origin_start: int = 0,
    *,
    place: LogKey = ("Y", "orders", 0),
    seen_ms: int = 0,
) -> dict[str, Any]:
    """So many records from *start* on, produced at *origin* from *origin_start* on and first seen at *seen_ms*."""
    return {
        "cluster": place[0],
        "topic": place[1],
        "partition": place[2],
        "start_offset": start,
        "length": length,
        "origin": origin,
        "origin_start": origin_start,
        "indexed_at": EPOCH + timedelta(milliseconds=seen_ms),
    }


def edge(offset: int, *, place: LogKey = ("Y", "orders", 0)) -> dict[str, Any]:
    """Read up to here without a record."""
    return run(offset, 0, place[0], offset, place=place)


def begin(offset: int, *, place: LogKey = ("Y", "orders", 0)) -> dict[str, Any]:
    """A query begins to read here."""
    return run(offset, 0, place[0], -1, place=place)


def life(alias: str, begins_at: int, noticed_ms: int = 0, reason: str = TRUNCATED) -> dict[str, Any]:
    """The log of ``orders`` at *alias* has had other records from *begins_at* on since *noticed_ms*."""
    log = {"cluster": alias, "topic": "orders", "partition": 0, "topic_id": "id", "leader_epoch": noticed_ms}
    return log | {"begins_at": begins_at, "reason": reason, "noticed_at": EPOCH + timedelta(milliseconds=noticed_ms)}


def add(tables: MemoryTables, table: Table, *rows: dict[str, Any]) -> None:
    """Append *rows*, with nothing where they say nothing."""
    tables.append(table, pa.Table.from_pylist(list(rows), table.arrow_schema))
