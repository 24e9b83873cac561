"""Micro-batches of ``__consumer_offsets`` without Spark and without a cluster."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fakes.clusters import MemoryIndex
from fakes.commit_rows import CommitRowsInMemory
from fakes.reconciler_site import config_of
from fakes.tables import MemoryFrame, MemoryTables
from fakes.unchecked import UNCHECKED
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.values import TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

WRITTEN_MS = 1_700_000_009_000
Raw = tuple[bytes | None, bytes | None]
"""Key and value of a record."""
NO_ROWS: Any = MemoryFrame(pa.table({}))
"""What Spark would read is not read."""


@dataclass
class IngestingJob:
    """Ingests the commits of cluster X; reconcile is only noted, unless it is told to fail."""

    tables: MemoryTables = field(default_factory=MemoryTables)
    reconciled: list[tuple[list[str], int]] = field(default_factory=list)
    most_records: int = 10

    def __post_init__(self) -> None:
        config = config_of(["X", "Y"])
        self.state = SyncState(config, MemoryIndex())
        self.offsets = self.state.offsets
        self.is_ready = threading.Event()
        self.is_ready.set()
        self.rows = CommitRowsInMemory()
        reading = Reading(UNCHECKED, CommitLogIncarnations(self.tables))
        ingester = CommitIngester("X", self.tables, self, self.rows, 2, reading)  # type: ignore[arg-type]
        self.batch = SyncBatch(ingester, self.state, self.reconcile_batch, self.is_ready)

    def query_id(self) -> str:
        """As a checkpoint says it."""
        return "query"

    def record_limit(self, batch_id: int) -> int:
        """As a checkpoint says it."""
        return self.most_records

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """As a checkpoint says it."""
        return {}

    end_offsets = start_offsets

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> None:
        """Note which groups are to be reconciled."""
        assert source == "X"
        self.reconciled.append((sorted({self.offsets.keys[row].group_id for row in rows.tolist()}), batch_id))

    def ingest(self, batch_id: int, *records: Raw, first: int = 0, written_ms: int = WRITTEN_MS) -> None:
        """Take in a micro-batch of *records*, of partition 3 from the offset *first* on."""
        rows = [
            {"key": key, "value": value, "partition": 3, "offset": first + n, "timestamp": written_ms * 1000}
            for n, (key, value) in enumerate(records)
        ]
        self.rows.put(rows, batch_rows=2)
        self.batch(NO_ROWS, batch_id)

    def commits(self, *names: str) -> list[tuple[Any, ...]]:
        """Return these columns of the commits written down."""
        return self.tables.rows(OFFSET_COMMITS, *names)

    def genuine(self) -> dict[str, int]:
        """Return the last genuine commit of each group."""
        found = self.offsets.clusters["X"].columns["genuine_offset"].tolist()
        return {group: offset for (group, _, _), offset in zip(self.offsets.keys, found, strict=False)}
