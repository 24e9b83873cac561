"""Which records of ``__consumer_offsets`` are still there: it too is made anew, and cut by elections.

A row of ``offset_commits`` is of the life of its log in which it was captured: its time lies after every life that was
known when it was written, and lives are written down first. From where a later life begins it is gone::

    captured before   a  b  c  d
    noticed                 |          begins_at 2
    captured after          E          what stands is  a  b  E
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from offset_sync.model.values import ABSENT
from offset_sync.state.incarnations import lives_of
from offset_sync.tables.catalog import LOG_INCARNATIONS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

_STANDS, _LIFE = 1 << 62, 1 << 48
"""A place in a log as one number: does it stand, in which life, where. No log has so many offsets."""


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

    def refresh(self) -> None:
        """Catch up with the table."""
        with self._lock:
            version = self._tables.version(LOG_INCARNATIONS, self._version)
            if version == self._version:
                return
            rows = self._tables.rows_since(LOG_INCARNATIONS, self._version, version)
            found = [
                LogLife(log.cluster, log.partition, life.begins_at, life.noticed_ms)
                for log, life in lives_of(rows, of_commits=True)
            ]
            self._lives = sorted({*self._lives, *found}, key=lambda life: life.noticed_ms)
            self._version = version

    def is_new(self, alias: str) -> bool:
        """Return whether a log of the cluster *alias* has begun a life since :meth:`take`."""
        with self._lock:
            return self._count(alias) > self._taken.get(alias, 0)

    def take(self, alias: str) -> None:
        """Note that what is known of the cluster *alias* is right in the light of its lives."""
        with self._lock:
            self._taken[alias] = self._count(alias)

    def told(self) -> list[list[str | int]]:
        """Return every life, as JSON has it."""
        with self._lock:
            return [list(life) for life in self._lives]

    def _count(self, alias: str) -> int:
        return sum(life.cluster == alias for life in self._lives)

    def life_ms(self, rows: pa.Table) -> Int64s:
        """Return since when the place of each row of ``offset_commits`` had had the life it was read in; 0: ever."""
        found = np.zeros(rows.num_rows, np.int64)
        for life, is_above, is_later in self._compared(rows):
            found[is_above & is_later] = life.noticed_ms
        return found

    def gone_ms(self, rows: pa.Table) -> Int64s:
        """Return when it was noticed of each row of ``offset_commits`` that its record is gone; ABSENT: it stands."""
        found = np.full(rows.num_rows, ABSENT, np.int64)
        for life, is_above, is_later in self._compared(rows):
            found[is_above & ~is_later & (found == ABSENT)] = life.noticed_ms
        return found

    def _compared(self, rows: pa.Table) -> list[tuple[LogLife, np.ndarray, np.ndarray]]:
        """Return each life with which *rows* are at places that it has begun anew, and which were read in it."""
        captured_ms = rows.column("captured_at").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
        offset, partition = (rows.column(name).to_numpy() for name in ("log_offset", "log_partition"))
        found = []
        for life in self._lives:
            is_of_log = pc.equal(rows.column("cluster"), life.cluster).to_numpy() & (partition == life.partition)
            found.append((life, is_of_log & (offset >= life.begins_at), captured_ms > life.noticed_ms))
        return found

    def with_places(self, commits: DataFrame) -> DataFrame:
        """Add to rows of ``offset_commits`` *gone_ms* (null: it stands), *newest* and *place*.

        *newest* orders the records of a key as they were written. *place* does so too, but has those first that are
        gone: whatever stands counts more.
        """
        if not self._lives:
            place = F.col("log_offset")
            return commits.withColumns({"gone_ms": F.lit(None).cast("bigint"), "newest": place, "place": place})
        numbers = {noticed_ms: number for number, noticed_ms in enumerate(sorted({e.noticed_ms for e in self._lives}))}
        by_log: dict[tuple[str, int], list[tuple[int, int, int]]] = {}
        for life in self._lives:
            row = (life.begins_at, life.noticed_ms, numbers[life.noticed_ms] + 1)
            by_log.setdefault((life.cluster, life.partition), []).append(row)
        schema = "cluster string, log_partition int, lives array<struct<begins_at: bigint, ms: bigint, number: bigint>>"
        lives = commits.sparkSession.createDataFrame([(*log, each) for log, each in by_log.items()], schema)
        captured_ms, offset = F.unix_millis("captured_at"), F.col("log_offset")
        is_above = F.filter("lives", lambda life: life["begins_at"] <= offset)
        later = F.filter(is_above, lambda life: life["ms"] >= captured_ms)
        earlier = F.filter(is_above, lambda life: life["ms"] < captured_ms)
        number = F.coalesce(F.array_max(F.transform(earlier, lambda life: life["number"])), F.lit(0))
        gone_ms = F.array_min(F.transform(later, lambda life: life["ms"]))
        newest = number * F.lit(_LIFE) + offset
        marked = commits.join(F.broadcast(lives), ["cluster", "log_partition"], "left")
        marked = marked.withColumns({"gone_ms": gone_ms, "newest": newest}).drop("lives")
        stands = F.when(F.col("gone_ms").isNull(), F.lit(_STANDS)).otherwise(F.lit(0))
        return marked.withColumn("place", F.col("newest") + stands)
