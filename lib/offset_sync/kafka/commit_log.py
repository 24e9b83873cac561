"""The log of commits of a cluster, ``__consumer_offsets``, as far as it is read without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.commit_log_ends import commit_log_ends
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import TailReader, Tails
from offset_sync.model.values import TopicPartition


class CommitLogReader:
    """The log of the cluster that *admin* asks; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin, self._tails = admin, TailReader(admin.alias, options)

    def ends(self) -> Sequence[int | None]:
        """Return the log end of each partition, None of one without a leader; none where there is no such topic.

        Raises ClusterError where the cluster does not answer.
        """
        return commit_log_ends(self._admin)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], deadline: float) -> Tails:
        """Return the committed records of *ranges*, as far as they come in time; ClusterError where none does."""
        return self._tails.read(ranges, deadline)
