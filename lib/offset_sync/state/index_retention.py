"""Which runs of which partitions may be cut, from the index, the commits and the clusters' metadata now.

A partition is kept whole unless everything about it is known: every cluster that has indexed it answers, has the one
incarnation that was indexed, and its index has reached the log end. What is unknown may need what would be cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.maintenance import BEGINS_SCHEMA
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index_retention import IndexedLog, begins


def lowest_commits(committed: CommittedOffsets, is_included: Callable[[str], bool]) -> dict[ClusterPartition, int]:
    """Return the lowest offset that any included group holds of each partition, per cluster.

    What a coordinator holds counts, ours or not: any cluster may be the next home. Deleted ones do not.
    """
    found: dict[ClusterPartition, int] = {}
    for alias, commits in committed.clusters.items():
        offset, _ = commits.position(np.arange(len(committed.keys)))
        is_held = (offset >= 0) & ~commits.columns["is_deleted"]
        for row in np.flatnonzero(is_held).tolist():
            group_id, topic, partition = committed.keys[row]
            if is_included(group_id):
                where = ClusterPartition(alias, topic, partition)
                found[where] = min(found.get(where, NO_LIMIT), int(offset[row]))
    return found


class Retention:
    """Decides partition by partition; *metadata* was asked for before the *index* was read."""

    def __init__(
        self,
        index: RecordIndex,
        metadata: MetadataByCluster,
        lowest: Mapping[ClusterPartition, int],
        old_before_ms: int,
    ) -> None:
        self._index, self._metadata, self._lowest = index, metadata, lowest
        self._old_before_ms = old_before_ms

    def begins(self, partitions: Iterable[TopicPartition]) -> tuple[dict[ClusterPartition, int], Counter[str]]:
        """Return where the index of each partition may begin; and why others are kept whole, and how many."""
        found, reasons = dict[ClusterPartition, int](), Counter[str]()
        for partition in sorted(set(partitions), key=lambda each: (each.topic, each.partition)):
            logs = {alias: log for alias in self._metadata if (log := self._log(alias, partition)) is not None}
            if unknown := [log for log in logs.values() if isinstance(log, str)]:
                reasons[unknown[0]] += 1
                continue
            known = [log for log in logs.values() if isinstance(log, IndexedLog)]
            offsets = begins(known, old_before_ms=self._old_before_ms)
            found |= {ClusterPartition(alias, *partition): offset for alias, offset in zip(logs, offsets, strict=True)}
        return found, reasons

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
            # Its copies elsewhere then have several origins, whose commits are not counted here.
            return f"{alias} had other records before"
        if index.frontier < ends.log_end:
            return f"{alias} has not indexed it to its end"
        lowest = self._lowest.get(where, NO_LIMIT)
        return IndexedLog(index, self._index.code(alias), ends.log_start, lowest)


def to_begins(begins: Mapping[ClusterPartition, int], names: Names = SAME_NAMES) -> pa.Table:
    """Return the same as rows of :data:`BEGINS_SCHEMA`, by the names that topics have at their clusters."""
    rows = [
        {**log._asdict(), "topic": names.outside(log.cluster, log.topic), "begin": begin}
        for log, begin in begins.items()
    ]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)
