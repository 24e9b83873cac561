"""How far every log is indexed, there or as copies elsewhere, or its commits are written down; by the tables alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.incarnations import lives_of
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, RECORD_RUNS
from offset_sync.tables.protocol import Tables
from offset_sync.translate.index.incarnations import Incarnation

_RUN = ["cluster", "origin", "topic", "partition", "start_offset", "origin_start", "length"]
_ENDS = (("origin", "origin_start"), ("cluster", "start_offset"))
"""A run has records of two logs: of the one that they were produced in, and of the one that it was read from."""
_COMMIT = ["cluster", "log_partition", "log_offset", "captured_at"]


def highest_indexed(tables: Tables) -> dict[ClusterPartition, int]:
    """Return, by log, the first offset above all records of it that ``record_runs`` has; reads the whole table.

    Of a log with several lives only what was indexed in the last one counts.
    """
    lives, found = lives_of(tables.all_rows(LOG_INCARNATIONS)), dict[ClusterPartition, int]()
    for rows in tables.batches(RECORD_RUNS, [*_RUN, "indexed_at"] if lives else _RUN, encoded=True):
        for owner, start in _ENDS:
            is_wanted = pc.greater(rows.column("length"), 0).to_numpy() & ~_is_earlier(rows, owner, lives)
            end = pc.add(rows.column(start), rows.column("length"))
            for (cluster, topic, partition), highest in _highest(rows, [owner, "topic", "partition"], end, is_wanted):
                if cluster:  # else nobody knows whose records they are
                    log = ClusterPartition(cluster, topic, partition)
                    found[log] = max(highest, found.get(log, highest))
    return found


def highest_captured(tables: Tables, lives: CommitLogLives) -> dict[ClusterPartition, int]:
    """Return, by log of commits, the first offset above all commits that stand in it; reads the whole table."""
    lives.refresh()
    places, found = lives.places(), dict[ClusterPartition, int]()
    for rows in tables.batches(OFFSET_COMMITS, _COMMIT):
        end, stands = pc.add(rows.column("log_offset"), 1), places.of(rows)[0] == ABSENT
        for (cluster, partition), highest in _highest(rows, _COMMIT[:2], end, stands):
            log = ClusterPartition(cluster, CONSUMER_OFFSETS, partition)
            found[log] = max(highest, found.get(log, highest))
    return found


def _is_earlier(
    rows: pa.Table, owner: str, lives: Collection[tuple[ClusterPartition, Incarnation]]
) -> NDArray[np.bool_]:
    """Return which runs were indexed before their log began its last life; *owner* is the column with its cluster."""
    found = np.zeros(rows.num_rows, np.bool_)
    for log, life in lives:
        is_of_log = pc.and_(pc.equal(rows.column(owner), log.cluster), pc.equal(rows.column("topic"), log.topic))
        is_of_log = pc.and_(is_of_log, pc.equal(rows.column("partition"), log.partition))
        indexed_ms = rows.column("indexed_at").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
        found |= is_of_log.to_numpy() & (indexed_ms <= life.noticed_ms)
    return found


def _highest(
    rows: pa.Table, names: list[str], end: pa.ChunkedArray, is_wanted: NDArray[np.bool_]
) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield each combination of the columns *names* among those rows that are wanted, with its highest *end*."""
    wanted = pa.array(np.where(is_wanted, end.to_numpy(), ABSENT))
    ends = rows.select(names).append_column("end", wanted).group_by(names, use_threads=False)
    highest = ends.aggregate([("end", "max")]).filter(pc.greater(pc.field("end_max"), ABSENT))
    columns = (highest.column(name).to_pylist() for name in (*names, "end_max"))
    for *place, most in zip(*columns, strict=True):
        yield tuple(place), most
