"""Where the logs end that hold the commits of a cluster's groups."""

from __future__ import annotations

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition

_DEADLINE_S = 5.0


def commit_log_ends(admin: ClusterAdmin) -> list[int | None]:
    """Return the log end of each partition of ``__consumer_offsets``, None of one without a leader.

    Empty where the topic does not exist. Raises ClusterError where the cluster does not answer.
    """
    count = admin.partition_count(CONSUMER_OFFSETS, _DEADLINE_S) or 0
    partitions = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
    ends = admin.ends(partitions, _DEADLINE_S)
    return [ends[each].log_end if each in ends else None for each in partitions]
