"""Partitions that came after a group had committed others of their topic: it has read nothing of them.

A consumer that subscribes finds them, and begins by its own ``auto.offset.reset``; with ``latest`` it skips what was
written before it looked. What it has not committed it may not have read, so wherever it is moved to it gets the start.
Partitions that were there when the group came are its own affair: it may not read them at all.
"""

from __future__ import annotations

import numpy as np

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import NEVER_MS
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import TopicPartitions


def begin_new_partitions(state: SyncState, topics: TopicPartitions) -> bool:
    """Have groups be at the start of what came after their first commit; return whether that was news."""
    is_news = False
    with state.lock:
        streams, of_key = state.keys.streams, state.keys.streams_of(state.all_rows())
        grown = [(stream, number) for stream, number in streams.items() if topics.has_grown(stream[1])]
        for alias, cluster in state.offsets.clusters.items() if grown else ():
            first_ms = np.full(len(streams), NEVER_MS)
            np.minimum.at(first_ms, of_key, cluster.columns["first_ms"][: len(of_key)])
            wanted = {
                GroupPartition(group_id, topic, partition): at_ms
                for (group_id, topic), number in grown
                for partition, at_ms in topics.came_ms(alias, topic).items()
                if at_ms > first_ms[number]
            }
            rows = state.offsets.ids(list(wanted))
            column, came_ms = cluster.columns, np.fromiter(wanted.values(), np.int64, len(wanted))
            is_new = (column["last_offset"][rows] == ABSENT) & (column["genuine_offset"][rows] == ABSENT)
            is_new &= ~column["is_deleted"][rows] & (column["actual_offset"][rows] == ABSENT)
            cluster.begin_partition(rows[is_new], came_ms[is_new])
            is_news |= bool(is_new.any())
    return is_news
