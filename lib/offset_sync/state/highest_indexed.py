"""How far every log is indexed, there or as copies elsewhere, or its commits are written down; by the tables alone."""

from __future__ import annotations

from pyspark.sql import functions as F

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.incarnations import lives_of
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, RECORD_RUNS
from offset_sync.tables.store import TableStore


def highest_indexed(tables: TableStore) -> dict[ClusterPartition, int]:
    """Return, by log, the first offset above all records of it that ``record_runs`` has; reads the whole table.

    Of a log with several lives only what was indexed in the last one counts.
    """
    end = F.max(F.col("origin_start") + F.col("length")).alias("end")
    runs = tables.read(RECORD_RUNS).where((F.col("length") > 0) & (F.col("origin") != ""))
    for log, life in lives_of(tables.all_rows(LOG_INCARNATIONS)):
        is_of_log = (F.col("origin") == log.cluster) & (F.col("topic") == log.topic)
        is_earlier = F.unix_millis("indexed_at") <= life.noticed_ms
        runs = runs.where(~(is_of_log & (F.col("partition") == log.partition) & is_earlier))
    rows = runs.groupBy("origin", "topic", "partition").agg(end).collect()
    return {ClusterPartition(row["origin"], row["topic"], row["partition"]): row["end"] for row in rows}


def highest_captured(tables: TableStore, lives: CommitLogLives) -> dict[ClusterPartition, int]:
    """Return, by log of commits, the first offset above all commits that stand in it; reads the whole table."""
    lives.refresh()
    end = F.max(F.col("log_offset") + 1).alias("end")
    commits = lives.with_places(tables.read(OFFSET_COMMITS)).where(F.col("gone_ms").isNull())
    rows = commits.groupBy("cluster", "log_partition").agg(end).collect()
    return {ClusterPartition(row["cluster"], CONSUMER_OFFSETS, row["log_partition"]): row["end"] for row in rows}
