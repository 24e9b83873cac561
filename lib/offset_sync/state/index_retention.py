"""Which runs of which partitions may go, from the index, the commits and what the clusters say now.

A partition is left whole unless everything about it is known: every cluster that has indexed it answers, has the one
incarnation that was indexed, and its index has reached the log's end. What is not known could need what would be cut.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.index_rows import COLUMNS, IndexRows, RowReader
from offset_sync.state.snapshot import Index, MetadataByCluster
from offset_sync.state.staged_rows import StagedRows
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index_retention import IndexedLog, begins


class Rows:
    """The rows of one log, read by ascending offset from what is *staged*; never all of them in memory."""

    def __init__(self, staged: StagedRows, number: int) -> None:
        self._staged, self._number = staged, number

    def first_seen_since(self, at_ms: int) -> int:
        """Return the lowest offset at which a row begins that was first seen at *at_ms* or later; NO_LIMIT: none."""
        for rows in self._parts():
            if len(young := rows.start[rows.seen_ms >= at_ms]):
                return int(young[0])
        return int(NO_LIMIT)

    def last_at(self, offset: int) -> int:
        """Return where the last row begins that begins at or below *offset*; the first row, if none does."""
        found: int | None = None
        for rows in self._parts():
            row = int(np.searchsorted(rows.start, offset, "right")) - 1
            if row >= 0 or found is None:
                found = int(rows.start[max(row, 0)])
            if row < len(rows) - 1:
                break
        if found is None:
            raise ValueError("a log that is indexed has rows")
        return found

    def _parts(self) -> Iterator[IndexRows]:
        for rows in self._staged.in_order(frozenset({self._number})):
            mine = rows.take(np.asarray(rows.log == self._number))
            if len(mine):
                yield mine


class TableRows(Mapping[ClusterPartition, Rows]):
    """The rows of the table by log; not many more than *most_rows* in memory at a time."""

    def __init__(self, most_rows: int = sys.maxsize) -> None:
        self._reader = RowReader(lambda _origin: 0, lambda _topic: False)
        self._rows = StagedRows(most_rows)

    def add(self, part: pa.Table) -> None:
        """Add some rows of ``record_runs``, in any order."""
        rows = self._reader.read(part.select([name for name in COLUMNS if name in part.column_names]))
        zero = np.zeros(len(rows), np.int64)
        self._rows.add(IndexRows(rows.log, rows.start, zero, zero, zero, rows.seen_ms, zero, zero, zero))

    def __getitem__(self, log: ClusterPartition) -> Rows:
        """Return the rows of a log; they are read when something is asked of them."""
        return Rows(self._rows, self._reader.numbers[log])

    def __iter__(self) -> Iterator[ClusterPartition]:
        """Yield the logs that have any."""
        return iter(self._reader.logs)

    def __len__(self) -> int:
        """Return how many logs have any."""
        return len(self._reader.logs)


def lowest_commits(committed: CommittedOffsets, is_included: Callable[[str], bool]) -> dict[ClusterPartition, int]:
    """Return the lowest offset that any included group holds of each partition, per cluster.

    What a coordinator holds counts, whoever wrote it: any cluster may be the home next. Deleted ones do not.
    """
    found: dict[ClusterPartition, int] = {}
    for alias, commits in committed.clusters.items():
        offset, _ = commits.position(np.arange(len(committed.keys)))
        is_held = (offset >= 0) & ~commits.columns["is_deleted"]
        for row in np.flatnonzero(is_held).tolist():
            group_id, topic, partition = committed.keys[row]
            if is_included(group_id):
                where = ClusterPartition(alias, topic, partition)
                found[where] = min(found.get(where, int(NO_LIMIT)), int(offset[row]))
    return found


class Retention:
    """Decides partition by partition; *rows* are what *index* was made of, *metadata* were taken before it was read."""

    def __init__(
        self,
        index: Index,
        rows: Mapping[ClusterPartition, Rows],
        metadata: MetadataByCluster,
        lowest: Mapping[ClusterPartition, int],
        old_before_ms: int,
    ) -> None:
        self._index, self._rows, self._metadata, self._lowest = index, rows, metadata, lowest
        self._old_before_ms = old_before_ms

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[ClusterPartition, int]:
        """Return where the index of each partition may begin; partitions that stay whole are left out."""
        found: dict[ClusterPartition, int] = {}
        for partition in sorted(set(partitions), key=lambda each: (each.topic, each.partition)):
            logs = {alias: log for alias in self._metadata if (log := self._log(alias, partition)) is not None}
            if not any(isinstance(log, str) for log in logs.values()):
                known = [log for log in logs.values() if isinstance(log, IndexedLog)]
                offsets = begins(known, old_before_ms=self._old_before_ms)
                found |= {
                    ClusterPartition(alias, *partition): offset for alias, offset in zip(logs, offsets, strict=True)
                }
        return found

    def reasons(self, partitions: Iterable[TopicPartition]) -> dict[str, int]:
        """Return why partitions stay whole, and how many do."""
        counts: dict[str, int] = {}
        for partition in set(partitions):
            for alias in self._metadata:
                if isinstance(reason := self._log(alias, partition), str):
                    counts[reason] = counts.get(reason, 0) + 1
                    break
        return counts

    def _log(self, alias: str, partition: TopicPartition) -> IndexedLog | str | None:
        """Return the log of a partition, why it cannot be judged, or None where the cluster has nothing of it."""
        metadata, index = self._metadata[alias], self._index.log(alias, partition.topic, partition.partition)
        if isinstance(metadata, ClusterError):
            return f"{alias} does not answer" if index is not None else None
        if partition.topic in metadata.refused:
            return f"{alias} does not let it be described"
        topic, ends = metadata.topics.get(partition.topic), metadata.ends.get(partition)
        if topic is None or partition.partition >= topic.partitions:
            return f"{alias} does not have it any more" if index is not None else None
        if ends is None:
            return f"{alias} has no leader for it"
        if index is None:
            return f"{alias} has not indexed it" if ends.log_end > ends.log_start else None
        if index.is_contradicted or self._index.topic_ids(alias, partition.topic) != {topic.topic_id}:
            return f"{alias} has another log than was indexed"
        where = ClusterPartition(alias, *partition)
        if self._index.incarnations(where):
            # Its copies elsewhere are of several origins then, whose commits nobody counts here.
            return f"{alias} had other records before"
        if index.frontier < ends.log_end:
            return f"{alias} has not indexed it to its end"
        rows, lowest = self._rows[where], self._lowest.get(where, int(NO_LIMIT))
        return IndexedLog(index, self._index.code(alias), ends.log_start, lowest, rows)
