"""Where the records of a leader epoch end in a log: what a log that was cut and has grown again cannot hide.

Kafka's brokers answer that (OffsetsForLeaderEpoch, KIP-320) to consumers only, which ask it about the position they
were given. librdkafka does so for an assignment with a leader epoch, and says in its error what it was told. So it is
asked about a position that no log has. That the sentence is still worded so is seen by ``tests/broker``; where it is
not, nobody knows, and the log counts as cut from its beginning.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_consumer import log_consumer
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_BEYOND_ALL = 1 << 60
_POLL_S = 0.2
_AT_ONCE = 1_000
_TOLD = re.compile(r"truncation detected .*: broker end offset is (-?\d+)")
_WANTED = {"auto.offset.reset": "error"}


class LeaderEpochs:
    """Asks one cluster; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias, self._options = alias, options

    def ends(self, epochs: Mapping[TopicPartition, int], deadline: float = 5.0) -> dict[TopicPartition, int]:
        """Return the first offset after the records of each epoch, or of the last one before that the log still has.

        0 where the log has none of them, or says so in words that nobody here knows: errs to the small side. Raises
        ClusterError where a partition has not answered within *deadline* (seconds).
        """
        found = self.ends_in_time(epochs, deadline)
        if waiting := epochs.keys() - found.keys():
            raise ClusterError(self._alias, f"{min(waiting)!r} did not say in time where a leader epoch ends")
        return found

    def ends_in_time(self, epochs: Mapping[TopicPartition, int], deadline: float = 5.0) -> dict[TopicPartition, int]:
        """Return the same of those partitions that answer within *deadline* (seconds)."""
        found: dict[TopicPartition, int] = {}
        left, ends_at = list(epochs), time.monotonic() + deadline
        random.shuffle(left)  # those that are silent are not in front of the others each time
        while left and time.monotonic() < ends_at:
            asked, left = left[:_AT_ONCE], left[_AT_ONCE:]
            with log_consumer(self._alias, self._options, _WANTED) as consumer:
                found |= self._ends(consumer, {each: epochs[each] for each in asked}, ends_at)
        return found

    def _ends(
        self, consumer: Consumer, epochs: Mapping[TopicPartition, int], ends_at: float
    ) -> dict[TopicPartition, int]:
        found: dict[TopicPartition, int] = {}
        waiting = set(epochs)
        consumer.assign([ClientPartition(*each, _BEYOND_ALL, leader_epoch=epoch) for each, epoch in epochs.items()])
        while waiting and time.monotonic() < ends_at:
            for message in consumer.consume(len(waiting), _POLL_S):
                partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
                error = message.error()
                if error is not None and error.name() == "_AUTO_OFFSET_RESET" and partition in waiting:
                    told = _TOLD.search(error.str())
                    waiting.remove(partition)
                    found[partition] = max(0, int(told[1])) if told is not None else 0
        return found
