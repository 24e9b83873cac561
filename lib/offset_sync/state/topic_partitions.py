"""How many partitions topics have, and since when: fetched from clusters, kept in the table ``indexed_topics``.

A topic gets more partitions, never fewer, as long as it is the same topic::

    rows of a topic      id a, 2      id a, 3 (12:00)      id b, 1
                         partition 2 came at 12:00         recreated

The count of ``__consumer_offsets`` decides the order of commits, see ``committed_offsets.py``.

Of partitions added after a group had committed others of their topic it has read nothing. A subscribed consumer finds
them, and begins by its own ``auto.offset.reset``; with ``latest`` it skips what was written before it looked. What it
has not committed it may not have read, so wherever it is moved to it gets the start. Partitions from before the group's
first commit are left alone: it may not read them at all.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.state.committed_offsets import NEVER_MS
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import INDEXED_TOPICS
from offset_sync.tables.store import TableStore


class _Known(NamedTuple):
    topic_id: str
    partitions: int
    came_ms: Mapping[int, int]  # of partitions that came after the topic was first seen


_NEVER_MET = _Known("", 0, MappingProxyType({}))


class TopicPartitions:
    """Follows the table; threads may share it."""

    def __init__(self, tables: TableStore) -> None:
        self._tables, self._lock = tables, threading.Lock()
        self._version: int | None = None
        self._known: Mapping[tuple[str, str], _Known] = {}  # never changed, but replaced as a whole

    def refresh(self) -> None:
        """Catch up with the table."""
        with self._lock:
            rows, version = self._tables.rows_since(INDEXED_TOPICS, self._version)
            known = dict(self._known)
            for row in sorted(rows.to_pylist(), key=lambda row: row["seen_at"]):
                place = row["cluster"], row["topic"]
                before, topic_id, count = known.get(place), row["topic_id"], row["partitions"] or 0
                if before is None or before.topic_id != topic_id:
                    known[place] = _Known(topic_id, count, {})
                elif count > before.partitions:
                    came = dict.fromkeys(range(before.partitions, count), epoch_ms(row["seen_at"]))
                    known[place] = _Known(topic_id, count, {**before.came_ms, **came})
            self._known, self._version = known, version

    def count(self, cluster: str, topic: str) -> int:
        """Return how many partitions a topic had when it was last checked; 0: never."""
        return self._known.get((cluster, topic), _NEVER_MET).partitions

    def counts(self, topic: str) -> dict[str, int]:
        """Return the same for every cluster where the topic was checked."""
        return {a: each.partitions for (a, name), each in self._known.items() if name == topic and each.partitions}

    def has_grown(self, topic: str) -> bool:
        """Return whether a topic has got partitions at any cluster since it was first seen."""
        return any(each.came_ms for (_, name), each in self._known.items() if name == topic)

    def came_ms(self, cluster: str, topic: str) -> Mapping[int, int]:
        """Return the partitions that were added since the topic was first seen, with when that was noticed, in ms."""
        return self._known.get((cluster, topic), _NEVER_MET).came_ms

    def note(self, cluster: str, found: Mapping[str, TopicInfo]) -> None:
        """Record topics of a cluster that are new, or recreated, or have more partitions than before."""
        self.refresh()
        now, rows = datetime.now(timezone.utc), []
        for topic, each in found.items():
            known = self._known.get((cluster, topic), _NEVER_MET)
            if known.topic_id != each.topic_id or each.partitions > known.partitions:
                values = (cluster, topic, each.topic_id, each.partitions, now)
                rows.append(dict(zip(INDEXED_TOPICS.names, values, strict=True)))
        if rows:
            self._tables.append(INDEXED_TOPICS, pa.Table.from_pylist(rows, INDEXED_TOPICS.arrow_schema))
            self.refresh()


def begin_new_partitions(state: SyncState, topics: TopicPartitions) -> bool:
    """Put groups at the start of partitions added after their first commit; return whether there were any new ones."""
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
