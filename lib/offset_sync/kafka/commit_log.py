"""The log of commits of a cluster, ``__consumer_offsets``, as far as it is read without Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.commit_log_ends import commit_log_ends
from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.record_reader import to_content
from offset_sync.model.values import CONSUMER_OFFSETS, RecordContent

_POLL_S = 0.2
_MOST_RECORDS = 5_000
# Past an offset that a transaction has not committed yet too: what is said of groups and members is in none.
_WANTED = {"isolation.level": "read_uncommitted", "queued.max.messages.kbytes": "65536"}


class LogRecords(NamedTuple):
    """Records by partition, each in its order, and the partitions that were not read to the end in time."""

    records: Mapping[int, Sequence[RecordContent]]
    unread: frozenset[int] = frozenset()


class CommitLogReader:
    """The log of the cluster that *admin* asks; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin, self._options = admin, options

    def ends(self) -> Sequence[int | None]:
        """Return the log end of each partition, None of one without a leader; none where there is no such topic.

        Raises ClusterError where the cluster does not answer.
        """
        return commit_log_ends(self._admin)

    def read(self, ranges: Mapping[int, OffsetRange], types: frozenset[bytes], deadline: float) -> LogRecords:
        """Return the records of *ranges* whose keys begin with one of *types*, each the two bytes of a record type.

        As far as they come within *deadline*, in seconds. Raises ClusterError where the client refuses its options.
        """
        found: dict[int, list[RecordContent]] = {partition: [] for partition in ranges}
        waiting = {partition: each.end for partition, each in ranges.items()}
        ends_at = time.monotonic() + deadline
        with log_consumer(self._admin.alias, self._options, _WANTED) as consumer:
            consumer.assign([ClientPartition(CONSUMER_OFFSETS, number, each.start) for number, each in ranges.items()])
            while waiting and time.monotonic() < ends_at:
                for message in next_messages(consumer, _MOST_RECORDS, _POLL_S):
                    partition, offset = int(message.partition() or 0), int(message.offset() or 0)
                    error = message.error()
                    if partition not in waiting or (error is not None and error.name() != "_PARTITION_EOF"):
                        continue  # after another error the client tries again by itself
                    if error is None and offset < waiting[partition] and (message.key() or b"")[:2] in types:
                        found[partition].append(to_content(message))
                    # Of an end that is below it more may come: a new leader does not know yet how far it may be read.
                    if offset >= waiting[partition] - (error is None):
                        del waiting[partition]
                        consumer.incremental_unassign([ClientPartition(CONSUMER_OFFSETS, partition)])
        return LogRecords(found, frozenset(waiting))
