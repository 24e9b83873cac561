"""Reads MirrorMaker's log of checkpoints, one partition, each record once."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import OFFSET_BEGINNING
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.error_codes import NOT_AUTHORIZED, NotAuthorizedError, TransientError
from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.kafka.record_reader import to_content
from offset_sync.model.values import RecordContent

_POLL_S = 0.2
_MOST_RECORDS = 500
_MOST_AT_ONCE = 100_000
"""So many records are held at once: a log may have many millions before it is compacted for the first time."""
# What an open or an aborted transaction of MirrorMaker's holds, it has worked out, and may have written to groups.
_WANTED = {"isolation.level": "read_uncommitted", "queued.max.messages.kbytes": "16384"}


class CheckpointLog:
    """The log *topic* at the cluster that *admin* asks; *options* are librdkafka's. Not for several threads at once."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str], topic: str) -> None:
        self.topic = topic
        self._admin, self._options = admin, options
        self._next = int(OFFSET_BEGINNING)
        self.is_at_end = True
        """Whether the end was reached by the last call that returned records, or found no topic."""

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return what has come since the last call; None where there is no such topic.

        Up to the end, see :attr:`is_at_end`, but at most 100,000 records and what comes within *deadline*, in seconds.
        One that was made anew is read from its beginning, as far as that shows. Raises NotAuthorizedError where we may
        not describe or read it, and TransientError where nothing comes at all.
        """
        ends_at = time.monotonic() + deadline
        if self._admin.partition_count(self.topic, deadline) is None:
            self._next, self.is_at_end = int(OFFSET_BEGINNING), True
            return None
        self.is_at_end = False
        found: list[RecordContent] = []
        with log_consumer(self._admin.alias, self._options, _WANTED) as consumer:
            consumer.assign([ClientPartition(self.topic, 0, self._next)])
            while time.monotonic() < ends_at and len(found) < _MOST_AT_ONCE:
                for message in next_messages(consumer, _MOST_RECORDS, _POLL_S):
                    error = message.error()
                    if error is None:
                        found.append(to_content(message))
                    elif error.name() == "_PARTITION_EOF":
                        self._next, self.is_at_end = max(int(message.offset() or 0), 0), True
                        return found
                    elif error.name() in NOT_AUTHORIZED:
                        raise NotAuthorizedError(self._admin.alias, self.topic, "Read")
        if not found:
            raise TransientError(self._admin.alias, f"topic {self.topic}: nothing is read within {deadline:g} s")
        self._next = found[-1].offset + 1
        return found
