"""Writes micro-batches of mirrored records to ``record_runs``: runs and coverage in one append.

An append holds the runs of a micro-batch and, as rows of length 0, where reading of each partition began, and where it
ended if no record is there. So the frontier never passes a record that is not among the runs, wherever the job is
killed. If an append is missing, because a checkpoint or a table was set back, the next one leaves a gap.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from offset_sync.ingest.batch_rows import ReadBatch, coverage, to_quarantine, to_runs
from offset_sync.ingest.checkpoint import Checkpoint, OffsetRanges, Offsets, are_few, ranges_of
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.kept_runs import Cut, KeptRuns, cut_by_tasks, release_all
from offset_sync.ingest.log_check import LogCheck, retry_overtaken
from offset_sync.ingest.map_batches import has_executors, in_its_share, map_batches
from offset_sync.ingest.run_builder import CUT_SCHEMA, is_of
from offset_sync.ingest.unreadable_logs import SecondReader
from offset_sync.model.stream_names import Names
from offset_sync.state import failpoints
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.rows import renamed
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks
from offset_sync.tables.transaction_log import DataFile

logger = logging.getLogger(__name__)


class Checks(NamedTuple):
    """The checks of what was read: *logs* verifies the logs, *again* reads what Spark cannot."""

    logs: LogCheck
    again: SecondReader


class Builder(Protocol):
    """Makes rows of the records of one cluster, in tasks; see :class:`RunBuilder`."""

    @property
    def alias(self) -> str:
        """The cluster."""

    @property
    def aliases(self) -> set[str]:
        """All clusters."""

    @property
    def names(self) -> Names:
        """Which stream a topic is."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the record batches of one task."""


@dataclass(frozen=True)
class _TaskRows:
    """Makes rows of a table of runs, as the driver does, with the topic names of the cluster; pickled to executors."""

    make: Callable[[pa.Table, str, datetime], pa.Table]
    alias: str
    at: datetime
    names: Names

    def __call__(self, cut: pa.Table) -> pa.Table:
        return renamed(self.make(cut, self.alias, self.at), "cluster", self.names.outside)


class RecordIndexer:
    """Writes the micro-batches of one cluster's query, once *checks* have verified them; *builder* makes *schema*."""

    schema = CUT_SCHEMA

    def __init__(
        self,
        tables: TableStore,
        checkpoint: Checkpoint,
        builder: Builder,
        checks: Checks,
        progress: IndexProgress,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        self._builder = builder
        self._checks = checks
        self._progress = progress

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Index one micro-batch; idempotent: it may be repeated after a failure at any point.

        Where another query has recorded an incarnation since its records were verified, it is read once more.
        """
        retry_overtaken(partial(self._index, records, batch_id))

    def _index(self, records: DataFrame, batch_id: int) -> None:
        start, end = self._offsets(batch_id)
        self._checks.logs.before_reading(start, end)
        ranges = ranges_of(start, end)
        is_part = len(ranges) < len(self._planned(batch_id)[1])
        with ExitStack() as made:
            cut = partial(self._cut, made)
            rows, kept, stopped = cut(self._checks.logs.some(ranges) if is_part else records, ranges)
            read = ReadBatch(rows, start, end, datetime.now(timezone.utc), kept=kept).and_stopped(stopped)
            read = self._checks.logs.checked(read, cut)
            count = self._write(read, batch_id)
        failpoints.failpoint(failpoints.AFTER_RUNS)
        self._checks.again.unreadable.note(read.end, read.stopped)
        self._checks.logs.was_read_again(read)
        self._progress.advance(self._builder.alias, start, read.end, count)

    def _offsets(self, batch_id: int) -> tuple[Offsets, Offsets]:
        """Return from where to where the micro-batch reads, without logs that cannot be read on."""
        return self._checks.again.unreadable.left_out(*self._planned(batch_id))

    def _planned(self, batch_id: int) -> tuple[Offsets, Offsets]:
        """Return from where to where Spark has planned it."""
        return self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id)

    def _writer(self, batch_id: int) -> tuple[str, int]:
        return (f"index_records-{self._checkpoint.query_id()}", batch_id)

    def _write(self, read: ReadBatch, batch_id: int) -> int:
        """Store what was *read*; return how many records the runs have."""
        writer, alias = self._writer(batch_id), self._builder.alias
        runs = to_runs(read.cut, alias, read.at)
        rows = pa.concat_tables([runs, coverage(runs, read, batch_id, alias)])
        malformed, kept = to_quarantine(read.cut, alias, read.at), [each for each in read.kept if each.has_malformed]
        if count := self._append(QUARANTINE, malformed, to_quarantine, read, kept, writer):
            logger.warning("%s: %d records with malformed headers put in quarantine", writer[0], count)
        failpoints.failpoint(failpoints.BEFORE_RUNS)
        # Without an id: if this batch was written before the change was noticed, it would be skipped as a repetition.
        if read.again:
            is_again, kept = is_of(rows, read.again), [each for each in read.kept if each.is_again]
            self._append(RECORD_RUNS, rows.filter(is_again), to_runs, read, kept)
            rows = rows.filter(pc.invert(is_again))
        kept = [each for each in read.kept if not each.is_again]
        self._append(RECORD_RUNS, rows, to_runs, read, kept, writer)
        return sum(each.records for each in read.kept) + (pc.sum(runs.column("length")).as_py() or 0)

    def _append(
        self,
        table: Table,
        rows: pa.Table,
        make: Callable[[pa.Table, str, datetime], pa.Table],
        read: ReadBatch,
        kept: Sequence[KeptRuns],
        writer: tuple[str, int] | None = None,
    ) -> int:
        """Append *rows*, and those that tasks *make* of what is *kept*: all of them or none; return how many."""
        of_task, written = _TaskRows(make, self._builder.alias, read.at, self._builder.names), list[DataFile]()
        for each in kept:
            written += write_by_tasks(self._tables, table, each.rows, each.checked(of_task))
        self._tables.append(table, rows, writer, written, partial(self._checks.logs.confirm, read))
        return int(rows.num_rows) + sum(each.rows or 0 for each in written)

    def _cut(self, made: ExitStack, records: DataFrame | None, ranges: OffsetRanges) -> Cut:
        """Return the runs of *records*, those of *ranges*; runs kept on executors are released with *made*."""
        by_spark = None if records is None else partial(self._by_spark, records, ranges)
        found = self._checks.again.map(by_spark, self._builder, self.schema, ranges)
        made.callback(release_all, found.kept)
        return found

    def _by_spark(self, records: DataFrame, ranges: OffsetRanges) -> Cut:
        aliases, at_most = self._builder.aliases, sum(end - start for start, end in ranges.values())
        if are_few(at_most) or not has_executors(records):  # keeping them takes twice as long and gains nothing
            return Cut(map_batches(records, self._builder, CUT_SCHEMA, len(aliases), at_most))
        return cut_by_tasks(in_its_share(records, len(aliases)), self._builder, aliases)

    def ranges(self, batch_id: int) -> OffsetRanges:
        """Return what a micro-batch reads."""
        return ranges_of(*self._offsets(batch_id))

    def forget_plan(self) -> None:
        """Have the micro-batch planned again, which another cluster has planned."""
        self._checkpoint.forget_plan()

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Cut *rows* as those of a micro-batch, and write nothing."""
        cut = pa.Table.from_batches(list(self._builder([rows])), CUT_SCHEMA)
        to_runs(cut, self._builder.alias, datetime.now(timezone.utc))
