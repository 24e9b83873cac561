"""What the index has not read of two clusters' logs, up to the ends they had when they were first asked."""

from __future__ import annotations

from collections.abc import Collection

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.snapshot import Index, frontier
from offset_sync.status.cluster_queries import ClusterQueries


class IndexBacklog:
    """Counts what *index* lacks; the ends of *clusters*' logs are asked once, until they are forgotten.

    Under load a log always has one record more, so a wait for the present end would never be over.
    """

    def __init__(self, clusters: ClusterQueries, index: Index) -> None:
        self._clusters, self._index = clusters, index
        self._ends: dict[ClusterPartition, int] = {}

    def forget_ends(self) -> None:
        """Ask again where the logs end."""
        self._ends.clear()

    def unread(self, alias: str, partitions: Collection[TopicPartition]) -> dict[str, int]:
        """Count records below the known ends, and partitions without a leader or the right to describe them."""
        logs = [ClusterPartition(alias, *each) for each in partitions]
        unasked = [log.topic_partition for log in logs if log not in self._ends]
        if unasked:
            metadata = self._clusters.fetch([alias], unasked)[alias]
            if isinstance(metadata, ClusterError):
                return {f"partitions of {alias}, which does not answer": len(unasked)}
            for each in unasked:
                end = metadata.log_end(each)
                if end is not None:
                    self._ends[ClusterPartition(alias, *each)] = end
        known = [log for log in logs if log in self._ends]
        lacking = (self._ends[log] - frontier(self._index, alias, log.topic_partition) for log in known)
        return {
            f"records of {alias} to index": sum(max(0, count) for count in lacking),
            f"partitions of {alias} whose end is unknown": len(logs) - len(known),
        }
