"""Which records of ``__consumer_offsets`` still exist: it too can be recreated, and truncated by elections.

A row of ``offset_commits`` belongs to the incarnation of its log in which it was captured. Incarnations are recorded
first, so ``captured_at`` is after all that were known then. From where a later incarnation begins the row is gone::

    captured before   a  b  c  d
    noticed                 |          begins_at 2
    captured after          E          what exists is  a  b  E
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, POLLED
from offset_sync.state.committed_offsets import partition_read, place_in_log
from offset_sync.state.incarnations import incarnations_of
from offset_sync.state.index_rows import int64s
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import LOG_INCARNATIONS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

_LATEST = 1 << 42  # milliseconds


class LogIncarnation(NamedTuple):
    """An incarnation of a commit log partition: from *begins_at* on its records are others since *noticed_ms*."""

    cluster: str
    partition: int
    begins_at: int
    noticed_ms: int


class CommitLogIncarnations:
    """All incarnations of commit logs but the first, kept up with ``log_incarnations``; threads may share it.

    The commits of *polled* clusters are not read from a log: what was read from it before is older than all of them.
    """

    def __init__(self, tables: TableStore, polled: Collection[str] = ()) -> None:
        self._tables, self._polled = tables, dict.fromkeys(polled, POLLED)
        self._lock = threading.Lock()
        self._version: int | None = None
        self._incarnations: list[LogIncarnation] = []
        self._taken: dict[str, int] = {}
        self.topics = TopicPartitions(tables)

    def refresh(self) -> None:
        """Catch up with the tables."""
        self.topics.refresh()
        with self._lock:
            rows, version = self._tables.rows_since(LOG_INCARNATIONS, self._version)
            if version == self._version:
                return
            found = [
                LogIncarnation(log.cluster, log.partition, incarnation.begins_at, incarnation.noticed_ms)
                for log, incarnation in incarnations_of(rows, of_commits=True)
            ]
            self._incarnations = sorted({*self._incarnations, *found}, key=lambda incarnation: incarnation.noticed_ms)
            self._version = version

    def partitions(self, alias: str) -> int:
        """Return the last known partition count of the cluster's ``__consumer_offsets``; 0: unknown; or POLLED."""
        return self._polled.get(alias) or self.topics.count(alias, CONSUMER_OFFSETS)

    def is_new(self, alias: str) -> bool:
        """Return whether a log of the cluster *alias* has begun an incarnation since :meth:`take`."""
        with self._lock:
            return self._count(alias, self._incarnations) > self._taken.get(alias, 0)

    def take(self, alias: str, lineage: Lineage | None = None) -> None:
        """Note that the state of the cluster *alias* takes its incarnations, or those in *lineage*, into account."""
        with self._lock:
            self._taken[alias] = self._count(alias, self._incarnations if lineage is None else lineage.incarnations)

    def as_json(self) -> list[list[object]]:
        """Return every incarnation and the partition counts, as JSON values."""
        with self._lock:
            counts = sorted(self._counts().items())
            return [list(incarnation) for incarnation in self._incarnations] + [[*each] for each in counts]

    def _counts(self) -> dict[str, int]:
        return {**self.topics.counts(CONSUMER_OFFSETS), **self._polled}

    @staticmethod
    def _count(alias: str, incarnations: Iterable[LogIncarnation]) -> int:
        return sum(incarnation.cluster == alias for incarnation in incarnations)

    def lineage(self) -> Lineage:
        """Return the incarnations and partition counts that are known now."""
        return Lineage(tuple(self._incarnations), self._counts())


class Lineage(NamedTuple):
    """Tells which rows of ``offset_commits`` exist by these *incarnations*, sorted by when they were noticed.

    *partitions* is the partition count of ``__consumer_offsets``, by cluster; POLLED where commits are polled.
    """

    incarnations: tuple[LogIncarnation, ...]
    partitions: Mapping[str, int] = MappingProxyType({})

    def of(self, rows: pa.Table) -> tuple[Int64s, NDArray[np.intp]]:
        """Return, per row, when it was noticed to be gone (ABSENT: it exists), and its rank as they were written.

        Ranks are for rows of one key: within a partition by incarnation and offset. Those in the partition of the
        group's coordinator come last; those in others, and polled ones, by their time.
        """
        number, is_polled = np.zeros(rows.num_rows, np.int64), self._is_polled(rows)
        for rank, (_, is_above, is_later) in enumerate(_compared(self.incarnations, rows), 1):
            number[is_above & is_later] = rank
        log_partition, log_offset = (rows.column(name).to_numpy() for name in ("log_partition", "log_offset"))
        offset, is_present = place_in_log(log_partition, log_offset), (self._is_present(rows) == 1) & ~is_polled
        captured_ms, made_ms = (int64s(rows.column(name)) // 1000 for name in ("captured_at", "made_at"))
        made_ms = _in_order(rows, (offset, number), made_ms)
        at_ms = np.where(log_partition == POLLED, log_offset, captured_ms)  # the offset of a poll is its time
        at_ms = np.where(is_polled, at_ms, np.where(is_present, 0, made_ms))
        ranks = np.empty(rows.num_rows, np.intp)
        ranks[np.lexsort((captured_ms, offset, number, at_ms, is_present))] = np.arange(rows.num_rows)
        return self.gone_ms(rows), ranks

    def gone_ms(self, rows: pa.Table) -> Int64s:
        """Return when each row's record was noticed to be gone; ABSENT: it exists."""
        found = np.full(rows.num_rows, ABSENT, np.int64)
        for incarnation, is_above, is_later in _compared(self.incarnations, rows):
            found[is_above & ~is_later & (found == ABSENT)] = incarnation.noticed_ms
        return found

    def _is_polled(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Return which rows are of clusters that are polled now: those of a log, from before, are in another order."""
        polled = [alias for alias, partitions in self.partitions.items() if partitions == POLLED]
        found: NDArray[np.bool_] = pc.is_in(rows.column("cluster"), pa.array(polled, pa.string())).to_numpy()
        return found

    def _is_present(self, rows: pa.Table) -> Int64s:
        """Return 1 for rows in the partition of their group's coordinator; those in others are older."""
        found = np.zeros(rows.num_rows, np.int64)
        groups = rows.column("group_id").combine_chunks().dictionary_encode()
        hashes = coordinator_hashes(groups.dictionary.to_pylist())[groups.indices.to_numpy()]
        log_partition = partition_read(rows.column("log_partition").to_numpy())
        for alias, partitions in self.partitions.items():
            is_here = pc.equal(rows.column("cluster"), alias).to_numpy()
            found[is_here & (log_partition == (POLLED if partitions == POLLED else hashes % partitions))] = 1
        return found


def _compared(
    incarnations: Sequence[LogIncarnation], rows: pa.Table
) -> Iterator[tuple[LogIncarnation, np.ndarray, np.ndarray]]:
    """Yield each incarnation, which *rows* are at or above its beginning, and which were captured after it."""
    captured_ms = int64s(rows.column("captured_at")) // 1000
    offset, partition = rows.column("log_offset").to_numpy(), partition_read(rows.column("log_partition").to_numpy())
    for incarnation in incarnations:
        is_of_log = pc.equal(rows.column("cluster"), incarnation.cluster).to_numpy() & (
            partition == incarnation.partition
        )
        yield incarnation, is_of_log & (offset >= incarnation.begins_at), captured_ms > incarnation.noticed_ms


def _in_order(rows: pa.Table, place: tuple[Int64s, Int64s], made_ms: Int64s) -> Int64s:
    """Return times that do not go back within a partition, whose records are in the order of *place*."""
    log = partition_read(rows.column("log_partition").to_numpy()) << 10
    log += rows.column("cluster").combine_chunks().dictionary_encode().indices.to_numpy()
    order = np.lexsort((*place, log))
    apart = np.cumsum(np.diff(log[order], prepend=log[order][:1]) != 0) * _LATEST
    found = np.empty_like(made_ms)
    found[order] = np.maximum.accumulate(made_ms[order] + apart) - apart
    return found
