"""``index_records`` of one cluster: the real indexer over tables in memory, with a checkpoint that outlives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.indexing import Plan
from fakes.sealed_tables import SealedInMemory
from fakes.tables import MemoryFrame
from fakes.unchecked import ONLY_SPARK
from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.tables.catalog import RECORD_RUNS
from simulation.log_checks import LogChecks
from simulation.mirrors import ORIGIN_HEADERS
from simulation.world import World

_TYPES = MIRRORED_RECORDS.types
_UNSEALED = 6
"""Versions of the table of runs that stay as they are."""


class PatchedTime:
    """Replaces ``datetime`` where the indexer asks for the time."""

    now_ms = 0

    @classmethod
    def now(cls, zone: timezone) -> datetime:
        return datetime.fromtimestamp(cls.now_ms / 1000, zone)

    @classmethod
    def monotonic(cls) -> float:
        return cls.now_ms / 1000


class Indexer:
    """Indexes the logs of *alias* into *tables*."""

    def __init__(self, world: World, alias: str, tables: SealedInMemory, checks: LogChecks) -> None:
        self.world, self.alias, self.tables, self.checks = world, alias, tables, checks
        self.checkpoint, self.done = Plan({}, [], f"query {alias}"), 0  # what is planned outlives the process
        self.restart()

    def restart(self) -> None:
        """Begin as a new process does."""
        origins = {header.decode(): alias for alias, header in ORIGIN_HEADERS.items()}
        builder = RunBuilder(StreamIdentities(self.alias, origins, "text"), lambda _topic: False)
        checks = Checks(self.checks.of(self.alias, self._reread), ONLY_SPARK)  # type: ignore[arg-type]
        tables: Any = self.tables
        self.indexer = RecordIndexer(tables, self.checkpoint, builder, checks, IndexProgress())  # type: ignore[arg-type]

    def begin_at_end(self) -> None:
        """Start to read at the logs' ends, as ``index.starting: latest`` does."""
        logs = self.world.logs
        self.checkpoint.start = {p: logs[self.alias, p].end for p in self.world.shape.places}

    def set_back(self, batches: int) -> None:
        self.done = max(min(1, self.done), self.done - batches)
        del self.checkpoint.ends[self.done :]
        self.restart()

    def run(self, most: int) -> None:
        """Index the next micro-batch of up to *most* records of each partition; one that failed comes again."""
        plan, logs = self.checkpoint, self.world.logs
        if self.world.clusters[self.alias].is_down:
            return
        if len(plan.ends) == self.done:
            before = plan.start_offsets(self.done)
            ends = {}
            for place in (p for p in self.world.shape.places if not self.world.clusters[self.alias].is_without(p)):
                first = before.get(place, 0)
                ends[place] = min(max(first, logs[self.alias, place].start) + most, logs[self.alias, place].end)
            if self.done and ends == before:
                return
            plan.ends.append(ends)
        frame, read = self._read(plan.start_offsets(self.done), plan.ends[self.done])
        PatchedTime.now_ms = self.world.clock_ms[0]
        # After a checkpoint was set back: the table takes it for a repetition, and misses the records it has read.
        is_taken = (RECORD_RUNS.name, f"index_records-{plan.query}", self.done) in self.tables.writers
        try:
            self.indexer(frame, self.done)  # type: ignore[arg-type]
        except ClusterError:
            return
        for place, first, end in read if not is_taken else ():
            logs[self.alias, place].note_indexed(first, end)
        self.done += 1
        self._seal()

    def _seal(self) -> None:
        """In half of the worlds, seal all rows but the newest now and then, in row groups of four."""
        shape, tables = self.world.shape, self.tables
        is_often = "pages" in shape.faults
        most, is_sealing = 2 if is_often else _UNSEALED, (len(shape.groups) + len(shape.places)) % 2
        if (is_sealing or is_often) and tables.version(RECORD_RUNS) - tables.sealed_to > most:
            tables.seal(most // 2)

    def _read(self, start: Offsets, end: Offsets) -> tuple[MemoryFrame, list[tuple[TopicPartition, int, int]]]:
        read = []
        for place in end:
            log = self.world.logs[self.alias, place]
            first, last = max(start.get(place, 0), log.start), min(end[place], log.end)
            if first < last:
                read.append((place, first, last))
        return self._frame(read), read

    def _reread(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> MemoryFrame:
        """Read parts of the logs once more."""
        logs = {place: self.world.logs[self.alias, place] for place in ranges}
        read = [(place, first, min(end, logs[place].end)) for place, (first, end) in ranges.items()]
        for place, first, last in read:
            logs[place].note_indexed(first, last)
        return self._frame(read)

    def _frame(self, read: Iterable[tuple[TopicPartition, int, int]]) -> MemoryFrame:
        rows = [
            (*place, offset, 0, *(record.headers or (None, None)))
            for place, first, last in read
            for offset, record in enumerate(self.world.logs[self.alias, place].entries[first:last], first)
            if record is not None
        ]
        columns = [*zip(*rows)] or [()] * len(_TYPES)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, _TYPES)]
        return MemoryFrame(pa.table(arrays, schema=MIRRORED_RECORDS))
