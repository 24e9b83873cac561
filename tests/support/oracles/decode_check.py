"""Records as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from offset_sync.decode.consumer_offsets import RECORDS, decode_records

Row = dict[str, Any]
Raw = tuple[bytes | None, bytes | None]


def decode(records: Sequence[Raw]) -> list[Row]:
    """Return the rows of *records*."""
    keys, values = (pa.array([record[part] for record in records], pa.binary()) for part in (0, 1))
    decoded = decode_records(keys, values)
    decoded.validate(full=True)
    assert decoded.schema == RECORDS
    rows: list[Row] = decoded.to_pylist()
    return rows


def not_null(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}
