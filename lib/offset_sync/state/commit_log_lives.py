"""Which records of ``__consumer_offsets`` are still there: it too is made anew, and cut by elections.

A row of ``offset_commits`` is of the life of its log in which it was captured: its time lies after every life that was
known when it was written, and lives are written down first. From where a later life begins it is gone::

    captured before   a  b  c  d
    noticed                 |          begins_at 2
    captured after          E          what stands is  a  b  E
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS
from offset_sync.state.incarnations import lives_of
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import LOG_INCARNATIONS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

_STANDS, _PRESENT, _LIFE = 1 << 62, 1 << 61, 1 << 48
"""A place in a log as one number: is it still there, in the present partition, in which life, where. No log has so many
offsets."""


class LogLife(NamedTuple):
    """From *begins_at* on a partition of a cluster's log of commits has had other records since *noticed_ms*."""

    cluster: str
    partition: int
    begins_at: int
    noticed_ms: int


class CommitLogLives:
    """Every life of every log of commits after its first, kept up with ``log_incarnations``; threads may share it."""

    def __init__(self, tables: TableStore) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._version: int | None = None
        self._lives: list[LogLife] = []
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
                LogLife(log.cluster, log.partition, life.begins_at, life.noticed_ms)
                for log, life in lives_of(rows, of_commits=True)
            ]
            self._lives = sorted({*self._lives, *found}, key=lambda life: life.noticed_ms)
            self._version = version

    def partitions(self, alias: str) -> int:
        """Return how many partitions the cluster's ``__consumer_offsets`` had when it was last looked at; 0: never."""
        return self.topics.count(alias, CONSUMER_OFFSETS)

    def is_new(self, alias: str) -> bool:
        """Return whether a log of the cluster *alias* has begun a life since :meth:`take`."""
        with self._lock:
            return self._count(alias, self._lives) > self._taken.get(alias, 0)

    def take(self, alias: str, places: Places | None = None) -> None:
        """Note that what is known of the cluster *alias* is right in the light of its lives: of those in *places*."""
        with self._lock:
            self._taken[alias] = self._count(alias, self._lives if places is None else places.lives)

    def told(self) -> list[list[object]]:
        """Return every life, and how many partitions there are, as JSON has it."""
        with self._lock:
            counts = sorted(self.topics.counts(CONSUMER_OFFSETS).items())
            return [list(life) for life in self._lives] + [[*each] for each in counts]

    @staticmethod
    def _count(alias: str, lives: Iterable[LogLife]) -> int:
        return sum(life.cluster == alias for life in lives)

    def gone_ms(self, rows: pa.Table) -> Int64s:
        """Return when it was noticed of each row of ``offset_commits`` that its record is gone; ABSENT: it stands."""
        return self.places().gone_ms(rows)

    def places(self) -> Places:
        """Return what places in the logs are worth, by the lives that are known now."""
        return Places(tuple(self._lives), self.topics.counts(CONSUMER_OFFSETS))


class Places(NamedTuple):
    """What rows of ``offset_commits`` are worth in the light of these *lives*, which are sorted by when.

    *partitions* says how many ``__consumer_offsets`` has, by cluster.
    """

    lives: tuple[LogLife, ...]
    partitions: Mapping[str, int] = MappingProxyType({})

    def of(self, rows: pa.Table) -> tuple[Int64s, Int64s, Int64s]:
        """Return, per row, when it was noticed that it is gone (ABSENT: it stands), *newest* and *place*.

        *newest* orders the records of a key as they were written. *place* does so too, but has those first that are
        gone: whatever stands counts more.
        """
        gone_ms, number = self.gone_ms(rows), np.zeros(rows.num_rows, np.int64)
        numbers = {noticed_ms: n for n, noticed_ms in enumerate(sorted({e.noticed_ms for e in self.lives}), 1)}
        for life, is_above, is_later in _compared(self.lives, rows):
            number[is_above & is_later] = numbers[life.noticed_ms]
        newest = self._is_present(rows) * _PRESENT + number * _LIFE + rows.column("log_offset").to_numpy()
        return gone_ms, newest, newest + np.where(gone_ms == ABSENT, _STANDS, 0)

    def gone_ms(self, rows: pa.Table) -> Int64s:
        """Return when it was noticed of each row that its record is gone; ABSENT: it is still there."""
        found = np.full(rows.num_rows, ABSENT, np.int64)
        for life, is_above, is_later in _compared(self.lives, rows):
            found[is_above & ~is_later & (found == ABSENT)] = life.noticed_ms
        return found

    def _is_present(self, rows: pa.Table) -> Int64s:
        """Return 1 for rows in the partition of their group's coordinator: all in others is older."""
        found = np.zeros(rows.num_rows, np.int64)
        groups = rows.column("group_id").combine_chunks().dictionary_encode()
        hashes = coordinator_hashes(groups.dictionary.to_pylist())[groups.indices.to_numpy()]
        log_partition = rows.column("log_partition").to_numpy()
        for alias, partitions in self.partitions.items():
            is_here = pc.equal(rows.column("cluster"), alias).to_numpy()
            found[is_here & (hashes % partitions == log_partition)] = 1
        return found


def _compared(lives: Sequence[LogLife], rows: pa.Table) -> Iterator[tuple[LogLife, np.ndarray, np.ndarray]]:
    """Yield each life with which *rows* are at places that it has begun anew, and which were read in it."""
    captured_ms = rows.column("captured_at").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
    offset, partition = (rows.column(name).to_numpy() for name in ("log_offset", "log_partition"))
    for life in lives:
        is_of_log = pc.equal(rows.column("cluster"), life.cluster).to_numpy() & (partition == life.partition)
        yield life, is_of_log & (offset >= life.begins_at), captured_ms > life.noticed_ms
