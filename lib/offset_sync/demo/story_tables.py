"""What the tables say during the demo: how far the index reads, what was captured, what was answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import functions as F

from offset_sync.demo.clients import Partition
from offset_sync.errors import OffsetSyncError
from offset_sync.spark.schemas import OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS
from offset_sync.spark.tables import Tables

GroupPartition = tuple[str, str, int]


@dataclass(frozen=True)
class Answer:
    """The newest answer to a commit."""

    source_offset: int
    target_offset: int | None
    state: str
    outcome: str
    duplicates: int
    duplicates_at_most: int
    lost: int


class StoryTables:
    """Reads the tables that the jobs write; *check* is called while waiting and raises when a job has died."""

    def __init__(self, tables: Tables, check: Callable[[], None]) -> None:
        self._tables = tables
        self._check = check

    def answers(self, source: str, target: str) -> dict[GroupPartition, Answer]:
        """Return the newest answer for every key from *source* to *target*."""
        names = list(Answer.__annotations__)
        rows = self._tables.read(OFFSET_TRANSLATIONS).where(
            (F.col("source_cluster") == source) & (F.col("target_cluster") == target)
        )
        last = rows.groupBy("group_id", "topic", "partition").agg(
            F.max_by(F.struct(*names), "translated_at").alias("last")
        )
        found = last.select("group_id", "topic", "partition", "last.*").toArrow().to_pylist()
        return {
            (row["group_id"], row["topic"], row["partition"]): Answer(**{name: row[name] for name in names})
            for row in found
        }

    def captured(self, cluster: str) -> dict[GroupPartition, int]:
        """Return the last genuine commit that was captured, for every key."""
        rows = self._tables.read(OFFSET_COMMITS).where(
            (F.col("cluster") == cluster) & ~F.col("is_own") & ~F.col("is_tombstone")
        )
        last = rows.groupBy("group_id", "topic", "partition").agg(
            F.max_by("committed_offset", "log_offset").alias("offset")
        )
        return {(r["group_id"], r["topic"], r["partition"]): r["offset"] for r in last.toArrow().to_pylist()}

    def frontiers(self, cluster: str) -> dict[Partition, int]:
        """Return how far the index reads each partition."""
        rows = self._tables.read(RECORD_RUNS).where(F.col("cluster") == cluster)
        ends = rows.groupBy("topic", "partition").agg(F.max(F.col("start_offset") + F.col("length")).alias("frontier"))
        return {(row["topic"], row["partition"]): row["frontier"] for row in ends.toArrow().to_pylist()}

    def wait_for_index(self, cluster: str, ends: Mapping[Partition, int], timeout: float = 60.0) -> None:
        """Return when the index of *cluster* covers *ends*."""

        def is_covered() -> bool:
            frontiers = self.frontiers(cluster)
            return all(frontiers.get(place, 0) >= end for place, end in ends.items())

        self.wait_until(is_covered, f"the index covers {cluster}", timeout)

    def wait_until_steady(self, source: str, target: str, seconds: float, timeout: float = 90.0) -> None:
        """Return when no answer from *source* to *target* has changed for *seconds*."""
        last, since = self.answers(source, target), time.monotonic()

        def is_steady() -> bool:
            nonlocal last, since
            now = self.answers(source, target)
            if now != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        self.wait_until(is_steady, f"the answers from {source} to {target} are final", timeout)

    def wait_until(self, is_true: Callable[[], bool], what: str, timeout: float) -> None:
        """Return when *is_true*; raise OffsetSyncError when that takes longer than *timeout* seconds."""
        deadline = time.monotonic() + timeout
        while not is_true():
            self._check()
            if time.monotonic() > deadline:
                raise OffsetSyncError(f"waited {timeout:.0f} s in vain until {what}; see the logs of the jobs")
            time.sleep(0.5)
