"""What a cluster's log of commits says, without a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from builders.record_schemas import CONSUMER_OFFSETS
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, decode_batches
from offset_sync.model.values import OffsetRange, TopicPartition


class CommitRowsInMemory:
    """Returns, whatever is asked for, the records that were put in last."""

    def __init__(self) -> None:
        self.put([])

    def put(self, rows: list[dict[str, Any]], batch_rows: int = 50_000) -> None:
        """Have these *rows* read next, so many at once."""
        self._batches = pa.Table.from_pylist(rows, CONSUMER_OFFSETS).to_batches(max_chunksize=batch_rows)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[pa.RecordBatch]:
        """Yield them, decoded."""
        return decode_batches(self._batches)

    def table(self, ranges: Mapping[TopicPartition, OffsetRange]) -> pa.Table:
        """Return the same as a table."""
        return pa.Table.from_batches(list(self.read(ranges)), DECODED_SCHEMA)
