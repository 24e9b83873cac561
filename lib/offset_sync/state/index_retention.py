"""Which runs of which partitions may go, from the index, the commits and what the clusters say now.

A partition is left whole unless everything about it is known: every cluster that has indexed it answers, has the one
incarnation that was indexed, and its index has reached the log's end. What is not known could need what would be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.ownership import owners
from offset_sync.state.snapshot import Index, MetadataByCluster
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index_retention import IndexedLog, begins

Where = tuple[str, TopicPartition]
"""A partition at a cluster."""


@dataclass(frozen=True)
class Rows:
    """The rows of one partition of the index at one cluster, by ascending *start*; shapes (rows,)."""

    start: Int64s
    seen_ms: Int64s


def lowest_commits(book: CommittedOffsets, is_included: Callable[[str], bool]) -> dict[Where, int]:
    """Return the lowest offset that any included group holds of each partition, per cluster.

    What stands there counts, whoever wrote it, and what is translated from there: the owner's last genuine commit.
    Deleted ones do not.
    """
    owner = owners(book.column("genuine_at_ms"))
    found: dict[Where, int] = {}
    for number, (alias, commits) in enumerate(book.clusters.items()):
        column = commits.columns
        genuine: NDArray[np.int64] = np.where(owner == number, column["genuine_offset"], -1)
        for (group_id, topic, partition), is_deleted, *offsets in zip(
            book.keys, column["is_deleted"].tolist(), column["actual_offset"].tolist(), genuine.tolist(), strict=True
        ):
            held = [offset for offset in offsets if offset >= 0]
            if held and not is_deleted and is_included(group_id):
                where = (alias, TopicPartition(topic, partition))
                found[where] = min(found.get(where, int(NO_LIMIT)), *held)
    return found


class Retention:
    """Decides partition by partition; *rows* are what *index* was made of, *looks* were taken before it was read."""

    def __init__(
        self,
        index: Index,
        rows: Mapping[Where, Rows],
        looks: MetadataByCluster,
        lowest: Mapping[Where, int],
        old_before_ms: int,
    ) -> None:
        self._index, self._rows, self._looks, self._lowest = index, rows, looks, lowest
        self._old_before_ms = old_before_ms

    def begins(self, places: Iterable[TopicPartition]) -> dict[Where, int]:
        """Return where the index of each partition may begin; partitions that stay whole are left out."""
        found: dict[Where, int] = {}
        for place in sorted(set(places), key=lambda each: (each.topic, each.partition)):
            logs = {alias: log for alias in self._looks if (log := self._log(alias, place)) is not None}
            if not any(isinstance(log, str) for log in logs.values()):
                known = [log for log in logs.values() if isinstance(log, IndexedLog)]
                offsets = begins(known, old_before_ms=self._old_before_ms)
                found |= {(alias, place): offset for alias, offset in zip(logs, offsets, strict=True)}
        return found

    def reasons(self, places: Iterable[TopicPartition]) -> dict[str, int]:
        """Return why partitions stay whole, and how many do."""
        counts: dict[str, int] = {}
        for place in set(places):
            for alias in self._looks:
                if isinstance(reason := self._log(alias, place), str):
                    counts[reason] = counts.get(reason, 0) + 1
                    break
        return counts

    def _log(self, alias: str, place: TopicPartition) -> IndexedLog | str | None:
        """Return the log of a partition, why it cannot be judged, or None where the cluster has nothing of it."""
        look, index = self._looks[alias], self._index.log(alias, place.topic, place.partition)
        if isinstance(look, ClusterError):
            return f"{alias} does not answer" if index is not None else None
        if place.topic in look.refused:
            return f"{alias} does not let it be described"
        topic, ends = look.topics.get(place.topic), look.ends.get(place)
        if topic is None or place.partition >= topic.partitions:
            return f"{alias} does not have it any more" if index is not None else None
        if ends is None:
            return f"{alias} has no leader for it"
        if index is None:
            return f"{alias} has not indexed it" if ends.log_end > ends.log_start else None
        if index.is_contradicted or self._index.topic_ids(alias, place.topic) != {topic.topic_id}:
            return f"{alias} has another log than was indexed"
        if index.frontier < ends.log_end:
            return f"{alias} has not indexed it to its end"
        rows, lowest = self._rows[alias, place], self._lowest.get((alias, place), int(NO_LIMIT))
        return IndexedLog(index, self._index.code(alias), ends.log_start, lowest, rows.start, rows.seen_ms)
