"""The part of ``index_records`` that tells copies by contents, without Spark and Kafka: fed with a history, stopped
and restarted as one likes, and judged by what its tables say."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from contents.fingerprints import Tally, Truth
from contents.unstamped_copies import History, Int64s, fingerprints
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.tables import MemoryTables
from offset_sync.ingest.batch_rows import ReadBatch, coverage, to_runs
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ClusterPartition, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition_log import PartitionLog
from offset_sync_contents.alignment.mirror import Settings
from offset_sync_contents.copy_alignment import CopyAlignment, Lookups
from offset_sync_contents.known_logs import KeptAlignments
from offset_sync_contents.rows import FINGERPRINT, PACKED_SCHEMA, FingerprintBuilder, fingerprint_rows_of, native_runs
from offset_sync_contents.table import RECORD_FINGERPRINTS

ORDERS = TopicPartition("orders", 0)
ORIGINALS, COPIES = (ClusterPartition(alias, *ORDERS) for alias in ("dc1", "dc2"))
_RAW = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), (FINGERPRINT, pa.int64())])
_EVER = 1 << 62


@dataclass
class ContentJob:
    """Copies ``orders-0`` of dc1 to dc2; *folder* has what is kept beside the checkpoints."""

    told: History
    folder: Path
    settings: Settings
    tables: MemoryTables = field(default_factory=MemoryTables)
    now_ms: int = 1_000_000
    originals_to: int = 0
    copies_to: int = 0
    log_start: int = 0
    topic_id: str = "orders-1"
    is_silent: bool = False
    is_followed: bool = True
    _batches: int = 0

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin as a new process, with what is in the tables and in the folder."""
        store: Any = self.tables
        clusters: Any = dict.fromkeys(("dc1", "dc2"), self)
        self.incarnations = IncarnationCheck(store, clusters, dict, cut=store.cut)
        files: Any = Files()
        file = KeptAlignments(files, str(self.folder))
        logs: Any = self
        lookups = Lookups(logs, self.incarnations, self.read_from)
        self.alignment = CopyAlignment(
            store, file, lookups, lambda _log: "dc1" if self.is_followed else None, self.settings
        )

    # What the clusters say

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, Any]:
        """Say how far the log of originals reaches: as far as it has come."""
        end = int(self.told.original[self.newest_original - 1]) + 1 if self.newest_original else 0
        ends = {ORDERS: MemoryEnds(self.log_start, end, 0)}
        said = ClusterMetadata({"orders": MemoryTopic(self.topic_id)}, {} if self.is_silent else ends)
        return dict.fromkeys(wanted, said)

    def ends(self, epochs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, ReportedEnd]:
        """Say that no log was cut."""
        return dict.fromkeys(epochs, ReportedEnd(_EVER))

    @property
    def newest_original(self) -> int:
        """How many originals there are at least, by the copies that there are, and those that were read."""
        return max(int(self.told.of[: self.copies_to].max(initial=-1)) + 1, self.originals_to)

    # What the queries read

    def read_originals(self, count: int) -> None:
        """Read so many originals more, if they are there."""
        first, self.originals_to = self.originals_to, min(self.originals_to + count, len(self.told.original))
        chosen = slice(first, self.originals_to)
        self._write(ORIGINALS, self.told.original[chosen], self.told.contents[chosen], first)

    def read_copies(self, count: int) -> None:
        """Read so many copies more, if they are there."""
        first, self.copies_to = self.copies_to, min(self.copies_to + count, len(self.told.of))
        chosen = slice(first, self.copies_to)
        self._write(COPIES, self.told.copy[chosen], self.told.copied[chosen], first)

    def read_from(self, log: ClusterPartition, begin: int) -> pa.Table:
        """Return rows for all originals from *begin* on."""
        chosen = slice(int(self.told.original.searchsorted(begin)), self.newest_original)
        offset, contents = self.told.original[chosen], self.told.contents[chosen]
        end = int(offset[-1]) + 1
        return fingerprint_rows_of(self._read(log, offset, contents, (begin, end)), log.cluster)

    def _write(self, log: ClusterPartition, offset: Int64s, contents: Int64s, first: int) -> None:
        whole = self.told.original if log == ORIGINALS else self.told.copy
        begin = int(whole[first - 1]) + 1 if first else 0
        end = int(offset[-1]) + 1 if len(offset) else begin
        read = self._read(log, offset, contents, (begin, end))
        rows = fingerprint_rows_of(read, log.cluster)
        self.tables.append(RECORD_FINGERPRINTS, rows)
        if log == ORIGINALS:
            runs = to_runs(native_runs(read.cut, log.cluster), log.cluster, read.at)
            covered = coverage(runs, read._replace(cut=native_runs(read.cut, log.cluster)), self._batches, log.cluster)
            self.tables.append(RECORD_RUNS, pa.concat_tables([runs, covered]))
        self._batches += 1
        self.alignment.take(rows)

    def _read(self, log: ClusterPartition, offset: Int64s, contents: Int64s, span: tuple[int, int]) -> ReadBatch:
        columns = {"offset": offset, FINGERPRINT: fingerprints(contents)}
        places = {"topic": ["orders"] * len(offset), "partition": [0] * len(offset)}
        raw = pa.Table.from_pydict(places | {name: pa.array(each) for name, each in columns.items()}, _RAW)
        builder = FingerprintBuilder(log.cluster, {}, lambda _stream: True)
        packed = pa.Table.from_batches(list(builder(raw.to_batches(max_chunksize=97))), PACKED_SCHEMA)
        at, place = self.at(), (log.topic, log.partition)
        return ReadBatch(packed, {place: span[0]}, {place: span[1]}, at, complete_until={ORDERS: at})

    def at(self) -> datetime:
        """Return the time."""
        return datetime.fromtimestamp(self.now_ms / 1000, timezone.utc)

    # What is made of it

    def step(self, ms: int = 1) -> int:
        """Let time pass, and align."""
        self.now_ms += ms
        return self.alignment.step(self.now_ms)

    def finish(self) -> None:
        """Read all, and wait until nothing is kept back."""
        self.read_copies(len(self.told.of))
        self.step()
        self.read_originals(len(self.told.original))
        for _ in range(6):
            self.step(self.settings.hold_ms + 1)

    def index(self) -> RecordIndex:
        """Return the index as another process has it."""
        store: Any = self.tables
        found = RecordIndex(store)
        found.refresh()
        return found

    def judged(self, *, is_done: bool) -> Tally:
        """Judge every commit both ways; holes count as read only where all *is_done*."""
        index = self.index()
        logs = [index.log(*log) or LogIndex() for log in (ORIGINALS, COPIES)]
        views = [PartitionLog.of(log, index.code(alias)) for log, alias in zip(logs, ("dc1", "dc2"), strict=True)]
        bounds = Bounds(young_since_ms=_EVER if is_done else 0)
        found = Tally()
        commits = np.arange(0, logs[0].frontier + 1)
        answers = translate(commits, views[0], views[1], bounds).offset
        found += Truth.forward(self.told).judge(commits, answers, 0, logs[1].frontier)
        commits = np.arange(0, int(self.told.copy[self.copies_to - 1]) + 2 if self.copies_to else 1)
        answers = translate(commits, views[1], views[0], bounds).offset
        found += Truth.backward(self.told).judge(commits, answers, logs[0].begin, logs[0].frontier)
        assert not any(log.is_contradicted for log in logs)
        return found
