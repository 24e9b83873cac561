"""How far every log is indexed, there or as copies elsewhere, or its commits are written down; by the tables alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.incarnation_rows import lives_of
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, RECORD_FINGERPRINTS, RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation

_ENDS = {
    RECORD_RUNS: ("indexed_at", (("origin", "origin_start"), ("cluster", "start_offset"))),
    RECORD_FINGERPRINTS: ("read_at", (("cluster", "start_offset"),)),
}
"""When a row was written, and of which logs it has records: a run of the log that they were produced in, too."""
_LOG = ["topic", "partition", "length"]
_COMMIT = ["cluster", "log_partition", "log_offset", "captured_at"]


def highest_indexed(
    tables: TableStore, are_copied: Callable[[str], object] | None = None
) -> dict[ClusterPartition, int]:
    """Return, by log, the first offset above all records of it that are indexed; reads two whole tables.

    Of a log with several lives only what was indexed in the last one counts. Of topics that *are_copied* byte for byte
    (None: there are none) only the log itself counts: a copy that was written to tells nothing of its original.
    """
    lives, found = lives_of(tables.all_rows(LOG_INCARNATIONS)), dict[ClusterPartition, int]()
    for table, (at, ends) in _ENDS.items():
        names = [*_LOG, *(name for end in ends for name in end), *([at] if lives else [])]
        for rows in tables.batches(table, names, encoded=True):
            for owner, start in ends:
                is_wanted = pc.greater(rows.column("length"), 0).to_numpy() & ~_is_earlier(rows, owner, at, lives)
                if owner == "origin" and are_copied is not None:
                    is_wanted &= _is_told(rows, are_copied)
                end = pc.add(rows.column(start), rows.column("length"))
                for log, highest in _highest(rows, [owner, *_LOG[:2]], end, is_wanted):
                    if log[0]:  # else nobody knows whose records they are
                        found[ClusterPartition(*log)] = max(highest, found.get(ClusterPartition(*log), highest))
    return found


def highest_captured(tables: TableStore, lives: CommitLogLives) -> dict[ClusterPartition, int]:
    """Return, by log of commits, the first offset above all commits that stand in it; reads the whole table."""
    lives.refresh()
    places, found = lives.places(), dict[ClusterPartition, int]()
    for rows in tables.batches(OFFSET_COMMITS, _COMMIT):
        end, stands = pc.add(rows.column("log_offset"), 1), places.gone_ms(rows) == ABSENT
        for (cluster, partition), highest in _highest(rows, _COMMIT[:2], end, stands):
            log = ClusterPartition(cluster, CONSUMER_OFFSETS, partition)
            found[log] = max(highest, found.get(log, highest))
    return found


def _is_earlier(
    rows: pa.Table, owner: str, at: str, lives: Collection[tuple[ClusterPartition, Incarnation]]
) -> NDArray[np.bool_]:
    """Return which runs were indexed before their log began its last life; *owner* is the column with its cluster."""
    found = np.zeros(rows.num_rows, np.bool_)
    for log, life in lives:
        is_of_log = pc.and_(pc.equal(rows.column(owner), log.cluster), pc.equal(rows.column("topic"), log.topic))
        is_of_log = pc.and_(is_of_log, pc.equal(rows.column("partition"), log.partition))
        indexed_ms = rows.column(at).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000
        found |= is_of_log.to_numpy() & (indexed_ms <= life.noticed_ms)
    return found


def _is_told(rows: pa.Table, are_copied: Callable[[str], object]) -> NDArray[np.bool_]:
    """Return which rows may say how far the log of their origin reaches."""
    cluster, origin, topic = (rows.column(name).cast(pa.string()) for name in ("cluster", "origin", "topic"))
    copied = [each for each in pc.unique(topic).to_pylist() if are_copied(each)]
    is_other = pc.invert(pc.is_in(topic, pa.array(copied, pa.string())))
    told: NDArray[np.bool_] = pc.or_(pc.equal(cluster, origin), is_other).to_numpy()
    return told


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
