"""The decoder of many records, the one of a single record and the reference: they have to agree on every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from offset_sync.decode import offset_records
from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from oracles.decode import decode_record

Row = dict[str, Any]
Raw = tuple[bytes | None, bytes | None]


def not_null(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def decode(records: Sequence[Raw], chosen: slice = slice(None)) -> list[Row]:
    """Return the rows of the *chosen* records, decoded as a slice of all; messages have to agree too."""
    keys, values = (pa.array([record[part] for record in records], pa.binary())[chosen] for part in (0, 1))
    decoded = decode_records(keys, values)
    decoded.validate(full=True)
    rows: list[Row] = decoded.to_pylist()
    assert rows == [asdict(decode_record(*record)) for record in records[chosen]]
    alone = [offset_records.decode_record(*record) for record in records[chosen]]
    assert [not_null(row) for row in alone] == [not_null(row) for row in rows]
    assert decoded.schema == RECORDS
    return rows
