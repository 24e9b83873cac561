"""Data files of a table: written a piece at a time, with what the table's log is to say of them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from offset_sync.tables.files import Files

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999; times beyond have no statistics."""
_LONGEST = 256
"""Longer strings have no statistics: the log would grow with them."""


class DataFile(NamedTuple):
    """A file of a table: its *path* as the log has it, *size* in bytes, *statistics* as JSON, *rows* where known."""

    path: str
    size: int
    written_ms: int
    statistics: str = "{}"
    rows: int | None = None


def write_rows(
    files: Files,
    folder: str,
    schema: pa.Schema,
    pieces: Iterable[pa.Table],
    *,
    name: str = "",
    metadata: Mapping[bytes, bytes] | None = None,
    **encoding: object,
) -> DataFile:
    """Write *pieces* of *schema* as one new file of the table in *folder*; it is stored then, and nobody sees it.

    A piece is a row group. *metadata* and *encoding* are those of :meth:`Files.write_parquet`.
    """
    name, began_ms = name or f"part-00000-{uuid.uuid4()}-c000.snappy.parquet", int(time.time() * 1000)
    size, footer = files.write_parquet(f"{folder}/{name}", pieces, schema, metadata, **encoding)
    return DataFile(name, size, began_ms, json.dumps(statistics_of(footer)), footer.num_rows)


def statistics_of(footer: pq.FileMetaData) -> dict[str, Any]:
    """Return Delta's statistics of a Parquet file; readers skip files by them.

    A maximum is rounded up to the milliseconds that the format has: below the true one it would hide rows.
    """
    least, most, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    for number, field in enumerate(footer.schema.to_arrow_schema()):
        chunks = [group.column(number) for group in groups if group.num_rows]
        nulls[field.name] = sum(each.statistics.null_count for each in chunks)
        filled = [each.statistics for each in chunks if each.statistics.null_count < each.num_values]
        if filled and all(each.has_min_max for each in filled) and (bounds := _bounds(field.type, filled)):
            least[field.name], most[field.name] = bounds
    return {"numRecords": footer.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _bounds(kind: pa.DataType, found: Sequence[pq.Statistics]) -> tuple[Any, Any] | None:
    """Return a lower and an upper bound of the values, None where the log shall not have any."""
    if pa.types.is_timestamp(kind):
        least_ms, most_ms = min(each.min_raw for each in found) // 1000, -(-max(each.max_raw for each in found) // 1000)
        return (_iso(least_ms), _iso(most_ms)) if least_ms >= _FIRST_MS and most_ms <= _LAST_MS else None
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
        return None
    least, most = min(each.min for each in found), max(each.max for each in found)
    return None if isinstance(least, str) and max(len(least), len(most)) > _LONGEST else (least, most)


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
