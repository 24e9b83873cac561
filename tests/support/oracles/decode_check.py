"""The decoder of many records and the one of a single record: they have to agree on every column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from offset_sync.decode.offset_records import decode_record

Row = dict[str, Any]
Raw = tuple[bytes | None, bytes | None]


def alone(record: Raw) -> Row:
    """Return all columns of one record, decoded by itself."""
    return dict.fromkeys(RECORDS.names) | decode_record(*record)


def decode(records: Sequence[Raw], chosen: slice = slice(None)) -> list[Row]:
    """Return the rows of the *chosen* records, decoded as a slice of all; messages have to agree too."""
    keys, values = (pa.array([record[part] for record in records], pa.binary())[chosen] for part in (0, 1))
    decoded = decode_records(keys, values)
    decoded.validate(full=True)
    rows: list[Row] = decoded.to_pylist()
    assert rows == [alone(record) for record in records[chosen]]
    assert decoded.schema == RECORDS
    return rows


def not_null(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}
