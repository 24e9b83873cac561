"""Records of ``__consumer_offsets`` to typed rows inside Spark tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.decode.consumer_offsets import RECORDS, decode_records

_DECODED = [(field.name, pa.string() if field.name == "kind" else field.type) for field in RECORDS]
DECODED_SCHEMA = pa.schema(
    [
        *_DECODED,
        ("records", pa.int64()),
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""What :data:`offset_sync.decode.consumer_offsets.RECORDS` has, with the record's position in the log.

``key`` and ``value`` only where malformed; ``records`` is 1, or in the one row of kind ``ignored`` per Arrow batch the
number of records that say nothing about offsets or groups.
"""


def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode ``key, value, partition, offset, timestamp`` batches, for mapInArrow; never fails on a record's bytes."""
    for batch in batches:
        decoded = decode_records(batch.column("key"), batch.column("value"))
        kind = decoded.column("kind").cast(pa.string())
        is_malformed, is_ignored = pc.equal(kind, "malformed"), pc.equal(kind, "ignored")
        columns = {field.name: decoded.column(field.name) for field in RECORDS} | {
            "kind": kind,
            "records": pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows),
            "log_partition": batch.column("partition"),
            "log_offset": batch.column("offset"),
            "timestamp": batch.column("timestamp"),
            "key": pc.if_else(is_malformed, batch.column("key"), pa.scalar(None, pa.binary())),
            "value": pc.if_else(is_malformed, batch.column("value"), pa.scalar(None, pa.binary())),
        }
        arrays = [columns[field.name].cast(field.type) for field in DECODED_SCHEMA]
        rows = pa.RecordBatch.from_arrays(arrays, schema=DECODED_SCHEMA)
        yield rows.filter(pc.invert(is_ignored))
        ignored = pc.sum(is_ignored).as_py() or 0
        if ignored:
            yield _count_row(ignored)


def _count_row(ignored: int) -> pa.RecordBatch:
    row = {field.name: None for field in DECODED_SCHEMA} | {"kind": "ignored", "records": ignored}
    return pa.RecordBatch.from_pylist([row], schema=DECODED_SCHEMA)
