"""Delta's statistics of a Parquet file, from the rows that it holds."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999; times beyond have no statistics."""
_LONGEST = 256
"""Longer strings have no statistics: the log would grow with them."""


def statistics_of(rows: pa.Table) -> dict[str, Any]:
    """Return Delta's statistics of a file: readers skip files by them, and the clustered columns must have them.

    A maximum is rounded up to the milliseconds that the format has: below the true one it would hide rows.
    """
    least, most, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        nulls[name] = column.null_count
        extent = _extent(column) if column.null_count < len(column) else None
        if extent is not None:
            least[name], most[name] = extent
    return {"numRecords": rows.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _extent(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Return a lower and an upper bound of the values, None where the log shall not have any."""
    if pa.types.is_timestamp(column.type):
        bounds = pc.min_max(column.cast(pa.int64())).as_py()
        least_ms, most_ms = bounds["min"] // 1000, -(-bounds["max"] // 1000)
        return (_iso(least_ms), _iso(most_ms)) if least_ms >= _FIRST_MS and most_ms <= _LAST_MS else None
    if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
        return None
    least, most = pc.min_max(column).as_py().values()
    return None if isinstance(least, str) and max(len(least), len(most)) > _LONGEST else (least, most)


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
