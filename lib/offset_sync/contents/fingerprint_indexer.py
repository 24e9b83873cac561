"""Micro-batches of a cluster's logs whose copies are told by contents: into ``record_fingerprints``.

Of originals their runs go into ``record_runs`` at once, as of any record that was produced where it stands. What copies
are nobody knows yet: :mod:`offset_sync.contents.copy_alignment` tells, from both logs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from offset_sync.contents.fingerprint_builder import PACKED_SCHEMA, FingerprintBuilder
from offset_sync.contents.packed_rows import fingerprint_rows_of, native_runs
from offset_sync.ingest.batch_rows import ReadBatch, is_of
from offset_sync.ingest.checkpoint import Checkpoint, Offsets
from offset_sync.ingest.index_progress import IndexProgress
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.map_batches import map_batches
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.second_reader import OffsetRanges
from offset_sync.state import failpoints
from offset_sync.tables.catalog import RECORD_FINGERPRINTS
from offset_sync.tables.store import TableStore

Taken = Callable[[pa.Table], None]
"""Is given the rows of a micro-batch once they are in the table."""


class QueryKind(NamedTuple):
    """What a query reads: originals or copies, who takes their fingerprints once they are written, and who counts."""

    are_originals: bool
    take: Taken
    progress: IndexProgress


class FingerprintIndexer(RecordIndexer):
    """Writes the micro-batches of one cluster's query for *kind*."""

    schema = PACKED_SCHEMA

    def __init__(
        self,
        tables: TableStore,
        checkpoint: Checkpoint,
        builder: FingerprintBuilder,
        checks: Checks,
        kind: QueryKind,
    ) -> None:
        super().__init__(tables, checkpoint, builder, checks, kind.progress)
        self._wanted, self._kind = builder.is_wanted, kind

    def _offsets(self, batch_id: int) -> tuple[Offsets, Offsets]:
        """Return what the micro-batch reads of the logs that are wanted: the pattern may let others through."""
        start, end = super()._offsets(batch_id)
        return self._of_wanted(start), self._of_wanted(end)

    def _of_wanted(self, offsets: Offsets) -> Offsets:
        return {place: each for place, each in offsets.items() if self._wanted(place[0])}

    def _by_spark(self, records: DataFrame, ranges: OffsetRanges) -> Cut:
        at_most = sum(end - start for start, end in ranges.values())
        return Cut(map_batches(records, self._builder, self.schema, len(self._builder.aliases), at_most))

    def _write(self, read: ReadBatch, batch_id: int) -> int:
        """Write down what was *read*; return how many records it has."""
        rows = fingerprint_rows_of(read, self._builder.alias)
        writer = self._writer(batch_id)
        append = partial(self._tables.append, RECORD_FINGERPRINTS)
        failpoints.failpoint(failpoints.BEFORE_RUNS)
        is_again = is_of(rows, read.again)
        append(rows.filter(is_again))
        append(rows.filter(pc.invert(is_again)), writer)
        if self._kind.are_originals:
            super()._write(read._replace(cut=native_runs(read.cut)), batch_id)
        self._kind.take(rows)
        return int(pc.sum(read.cut.column("length")).as_py() or 0)

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Pack *rows* as those of a micro-batch, and write nothing."""
        native_runs(pa.Table.from_batches(list(self._builder([rows])), self.schema))
