"""How far one topic can be read, and waiting until it can be read further: without a request while nothing comes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.kafka.topic_metadata import TopicMetadata

DEADLINE_S = 15.0
_MOST_RECORDS = 10_000
# What comes is not kept, it only wakes us: it is read by another consumer. A broker keeps a request for half a second.
_WANTED = {
    "auto.offset.reset": "latest",
    "enable.partition.eof": "false",
    "fetch.wait.max.ms": "500",
    "fetch.message.max.bytes": "65536",
    "queued.max.messages.kbytes": "1024",
}


class LogTail:
    """The tail of *topic* at the cluster *alias*, of which so many *partitions* count; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str], topic: str, partitions: int) -> None:
        self._alias, self._options, self._topic, self._partitions = alias, options, topic, partitions
        self._metadata = TopicMetadata(alias, options)
        self._stack = ExitStack()
        self._consumer: Consumer | None = None

    def ends(self) -> dict[int, int]:
        """Return the last stable offset of each partition; raises ClusterError where one of them is not known."""
        return self._metadata.stable_ends(self._topic, self._partitions, DEADLINE_S)

    def wait(self, ends: Mapping[int, int], seconds: float) -> None:
        """Return when a record stands at *ends* or above, and after so many *seconds* whatever stands there."""
        gives_up_at = time.monotonic() + seconds
        consumer = self._consumer or self._open(ends)
        while (left_s := gives_up_at - time.monotonic()) > 0:
            for message in next_messages(consumer, _MOST_RECORDS, left_s):
                if message.error() is None and int(message.offset() or 0) >= ends[int(message.partition() or 0)]:
                    return

    def close(self) -> None:
        """Close the consumer."""
        self._stack.close()

    def _open(self, ends: Mapping[int, int]) -> Consumer:
        consumer = self._stack.enter_context(log_consumer(self._alias, self._options, _WANTED))
        consumer.assign([ClientPartition(self._topic, partition, end) for partition, end in ends.items()])
        self._consumer = consumer
        return consumer
