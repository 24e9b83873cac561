"""How far every log is indexed, itself or as copies elsewhere, or its commits are captured; by the tables alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.incarnations import incarnations_of
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import greatest_of_each
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.segments import Directory
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation

_RUN_ENDS = (("origin", "origin_start"), ("cluster", "start_offset"))
"""The logs of which a run has records: its own, and the one where they were produced."""
_PLACE = ["topic", "partition"]
_COMMIT = ["cluster", "log_partition", "log_offset", "captured_at"]
Ends = Sequence[tuple[str, str]]
LogIncarnations = Collection[tuple[ClusterPartition, Incarnation]]


def highest_indexed(tables: TableStore, others: Collection[Table] = ()) -> dict[ClusterPartition, int]:
    """Return, by log, the first offset above all its indexed records, and those in *others*.

    Of those in *others* rows of a log's last incarnation count. Sealed files have it in their directories. These may
    lack some of a log that contradicts itself, but nothing is translated from or to that one.
    """
    found, incarnations = _Highest(), incarnations_of(tables.all_rows(LOG_INCARNATIONS))
    names = [*_PLACE, "length", "cluster", "start_offset", "read_at"]
    for rows in chain.from_iterable(tables.batches(each, names) for each in others):
        is_present = pa.array(~_is_earlier(rows, incarnations))
        found.take_in(rows.filter(is_present), (("cluster", "start_offset"),))
    segments = tables.segments(RECORD_RUNS)
    files = segments.newest()
    for rows in segments.rows(files, pa.schema([RECORD_RUNS.arrow_schema.field(name) for name in _RUN])):
        found.take_in(rows, _RUN_ENDS)
    for each in files.sealed.values():
        found.take_in_directory(each.directory)
    return found.ends


_RUN = [*_PLACE, "length", "cluster", "start_offset", "origin", "origin_start"]


class _Highest:
    """Gathers the highest :attr:`ends`."""

    def __init__(self) -> None:
        self.ends: dict[ClusterPartition, int] = {}

    def take_in(self, rows: pa.Table, ends: Ends) -> None:
        """Take in *rows*; *ends* are pairs of columns, a cluster and a start."""
        rows = rows.filter(pc.greater(rows.column("length"), 0))
        for owner, start in ends:
            end = int64s(rows.column(start)) + int64s(rows.column("length"))
            for log, highest in greatest_of_each(rows, [owner, *_PLACE], end).items():
                self._note(ClusterPartition(*log), highest)

    def take_in_directory(self, said: Directory) -> None:
        """Take in the directory of a sealed file."""
        parts, spans = said.parts, said.spans
        for log, reach in zip(parts["log"].tolist(), parts["reach"].tolist(), strict=True):
            if reach:
                self._note(said.logs[log], reach)
        columns = parts["log"][spans["part"]], spans["origin"], spans["high"]
        for log, origin, high in zip(*(each.tolist() for each in columns), strict=True):
            self._note(said.logs[log]._replace(cluster=said.origins[origin]), high + 1)

    def _note(self, log: ClusterPartition, end: int) -> None:
        if log.cluster:  # else their origin is unknown
            self.ends[log] = max(end, self.ends.get(log, end))


def highest_captured(tables: TableStore, incarnations: CommitLogIncarnations) -> dict[ClusterPartition, int]:
    """Return, by commit log, the first offset above all commits that still exist; reads the whole table."""
    incarnations.refresh()
    lineage, found = incarnations.lineage(), dict[ClusterPartition, int]()
    for rows in tables.batches(OFFSET_COMMITS, _COMMIT):
        rows = rows.filter(pa.array(lineage.gone_ms(rows) == ABSENT))
        ends = greatest_of_each(rows, _COMMIT[:2], int64s(rows.column("log_offset")) + 1)
        for (cluster, partition), highest in ends.items():
            log = ClusterPartition(cluster, CONSUMER_OFFSETS, partition)
            found[log] = max(highest, found.get(log, highest))
    return found


def _is_earlier(rows: pa.Table, incarnations: LogIncarnations) -> NDArray[np.bool_]:
    """Return which *rows* were read before their log's last incarnation."""
    found = np.zeros(rows.num_rows, np.bool_)
    for log, incarnation in incarnations:
        is_of_log = pc.and_(pc.equal(rows.column("cluster"), log.cluster), pc.equal(rows.column("topic"), log.topic))
        is_of_log = pc.and_(is_of_log, pc.equal(rows.column("partition"), log.partition))
        read_ms = int64s(rows.column("read_at")) // 1000
        found |= is_of_log.to_numpy() & (read_ms <= incarnation.noticed_ms)
    return found
