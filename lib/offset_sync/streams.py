"""How far the running jobs have read: whether what the tables say is still what the clusters hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StreamLag:
    """What one query has not read yet: *unread* offsets per partition, and for how long it has not moved.

    *silent_ms* is 0 where nothing is unread.
    """

    unread: Mapping[int, int] = field(default_factory=dict)
    silent_ms: int = 0


@dataclass(frozen=True)
class Streams:
    """Per cluster: *commits* is what sync_offsets has not read of ``__consumer_offsets``, *silent_ms* index_records.

    A cluster that is missing does not answer, and nobody knows.
    """

    commits: Mapping[str, StreamLag] = field(default_factory=dict)
    index_silent_ms: Mapping[str, int] = field(default_factory=dict)

    def unread_commits(self, cluster: str, group_id: str) -> int:
        """Return how many offsets of the group's partition of ``__consumer_offsets`` nobody has read yet."""
        unread = self.commits.get(cluster, StreamLag()).unread
        return unread.get(coordinator_partition(group_id, len(unread)), 0) if unread else 0

    def sync_silent_ms(self, source: str, target: str) -> int:
        """Return for how long sync_offsets has stood still at either cluster, with commits to read."""
        return max(self.commits.get(alias, StreamLag()).silent_ms for alias in (source, target))

    def index_still_ms(self, source: str, target: str) -> int:
        """Return for how long index_records has read nothing at one of the clusters, be there anything or not."""
        return max(self.index_silent_ms.get(alias, 0) for alias in (source, target))


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Return the partition of ``__consumer_offsets`` that holds a group, as Kafka's ``partitionFor`` has it.

    Java's ``String.hashCode`` over UTF-16 units, without its sign; of the least number, which has no positive
    counterpart, 0 (``Utils.abs``).
    """
    units = group_id.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    size = code if code < 1 << 31 else (1 << 32) - code
    return (0 if size == 1 << 31 else size) % partitions
