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
    """Return Delta's statistics of a file that holds *rows*."""
    extent = Extent(rows.schema)
    extent.add(rows)
    return extent.statistics()


class Extent:
    """The smallest and the largest values of a file that is written a piece at a time, and how many nulls there are.

    Readers skip files by them. A maximum is rounded up to the milliseconds that the format has: below the true one it
    would hide rows.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._extremes = schema.empty_table()
        self._nulls = dict.fromkeys(schema.names, 0)
        self.rows = 0

    def add(self, rows: pa.Table) -> None:
        """Take in *rows* of the file."""
        self.rows += rows.num_rows
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            self._nulls[name] += column.null_count
        extremes = [_extremes(column) for column in rows.columns]
        self._extremes = pa.concat_tables([self._extremes, pa.table(extremes, schema=rows.schema)])

    def statistics(self) -> dict[str, Any]:
        """Return Delta's statistics of the file."""
        least, most = dict[str, Any](), dict[str, Any]()
        for name, column in zip(self._extremes.column_names, self._extremes.columns, strict=True):
            bounds = _bounds(column) if column.null_count < len(column) else None
            if bounds is not None:
                least[name], most[name] = bounds
        return {"numRecords": self.rows, "minValues": least, "maxValues": most, "nullCount": self._nulls}


def _extremes(column: pa.ChunkedArray) -> pa.Array:
    """Return the smallest and the largest value of a column, nulls where its type has no order or there is none."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_timestamp(kind)):
        return pa.nulls(2, kind)
    found = pc.min_max(column)
    return pa.concat_arrays([pa.repeat(found[each], 1) for each in ("min", "max")])


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Return a lower and an upper bound of the values, None where the log shall not have any."""
    if pa.types.is_timestamp(column.type):
        bounds = pc.min_max(column.cast(pa.int64())).as_py()
        least_ms, most_ms = bounds["min"] // 1000, -(-bounds["max"] // 1000)
        return (_iso(least_ms), _iso(most_ms)) if least_ms >= _FIRST_MS and most_ms <= _LAST_MS else None
    least, most = pc.min_max(column).as_py().values()
    return None if isinstance(least, str) and max(len(least), len(most)) > _LONGEST else (least, most)


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
