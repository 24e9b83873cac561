"""Records of ``__consumer_offsets`` to typed rows, in the driver and in tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from offset_sync.model.values import TopicPartition

UNREAD = "unread"
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
number of records that say nothing about offsets or groups. A row of kind ``unread`` stands for a log that could not be
read up to the end of its range: ``log_partition`` says which, ``error`` why.
"""


def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode batches of ``key, value, partition, offset, timestamp``; never fails on a record's bytes."""
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
            yield _rows([{"kind": "ignored", "records": ignored}])


def unread_rows(reasons: Mapping[TopicPartition, str]) -> pa.RecordBatch:
    """Return a row for each log that could not be read up to the end of its range, for the reason given."""
    found = sorted(reasons.items())
    return _rows([{"kind": UNREAD, "log_partition": place.partition, "error": why} for place, why in found])


def _rows(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict.fromkeys(DECODED_SCHEMA.names) | row for row in rows], schema=DECODED_SCHEMA
    )
