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
# What an open or an aborted transaction of MirrorMaker's holds, it has worked out, and may have written to groups.
_WANTED = {"isolation.level": "read_uncommitted", "queued.max.messages.kbytes": "16384"}


class CheckpointLog:
    """The log *topic* at the cluster that *admin* asks; *options* are librdkafka's. Not for several threads at once."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str], topic: str) -> None:
        self.topic = topic
        self._admin, self._options = admin, options
        self._next = int(OFFSET_BEGINNING)

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return what has come since the last call, up to the end; None where there is no such topic.

        One that was made anew is read from its beginning, as far as that shows. *deadline* is in seconds. Raises
        NotAuthorizedError where we may not describe or read it, and TransientError where the end is not reached in
        time: then nothing counts as read.
        """
        ends_at = time.monotonic() + deadline
        if self._admin.partition_count(self.topic, deadline) is None:
            self._next = int(OFFSET_BEGINNING)
            return None
        found: list[RecordContent] = []
        with log_consumer(self._admin.alias, self._options, _WANTED) as consumer:
            consumer.assign([ClientPartition(self.topic, 0, self._next)])
            while time.monotonic() < ends_at:
                for message in next_messages(consumer, _MOST_RECORDS, _POLL_S):
                    error = message.error()
                    if error is None:
                        found.append(to_content(message))
                    elif error.name() == "_PARTITION_EOF":
                        self._next = max(int(message.offset() or 0), 0)
                        return found
                    elif error.name() in NOT_AUTHORIZED:
                        raise NotAuthorizedError(self._admin.alias, self.topic, "Read")
        raise TransientError(self._admin.alias, f"topic {self.topic}: its end is not reached within {deadline:g} s")
