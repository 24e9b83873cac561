"""Reads single records, those that a group would read next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

DEADLINE_S = 10.0
_POLL_S = 0.2
# A single record of each partition is wanted, so nothing is fetched ahead. If retention has deleted the record at the
# offset, the first one left is wanted; beyond the end there is none.
_WANTED = {"queued.min.messages": "1", "fetch.message.max.bytes": "65536"}

UNREADABLE_HEADERS: tuple[tuple[str, bytes | None], ...] = (("", None),)
"""In the place of headers that the client cannot decode."""


class RecordReader:
    """Reads from one cluster; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias = alias
        self._options = options

    def first_at(
        self, offsets: Mapping[TopicPartition, int], deadline: float = DEADLINE_S
    ) -> dict[TopicPartition, RecordContent] | ClusterError:
        """Return the first record at or above each offset; partitions of which none came in time are left out.

        The end of a log is reported at once. For a topic or partition that does not exist the whole *deadline* (in
        seconds) passes, for the client is never told.
        """
        try:
            with log_consumer(self._alias, self._options, _WANTED) as consumer:
                return self._first_at(consumer, offsets, time.monotonic() + deadline)
        except ClusterError as error:
            return error

    def _first_at(
        self, consumer: Consumer, offsets: Mapping[TopicPartition, int], ends_at: float
    ) -> dict[TopicPartition, RecordContent]:
        found: dict[TopicPartition, RecordContent] = {}
        waiting = dict(offsets)
        consumer.assign([ClientPartition(each.topic, each.partition, offset) for each, offset in offsets.items()])
        while waiting and time.monotonic() < ends_at:
            for message in next_messages(consumer, len(waiting), _POLL_S):
                partition = TopicPartition(str(message.topic()), int(message.partition() or 0))
                if partition not in waiting:
                    continue
                error = message.error()
                if error is None:
                    if int(message.offset() or 0) >= waiting[partition]:
                        found[partition] = to_content(message)
                elif not _is_end_of_log(error):
                    continue
                del waiting[partition]
                consumer.incremental_unassign([ClientPartition(partition.topic, partition.partition)])
        return found


def to_content(message: Message) -> RecordContent:
    """Return what a consumed message holds; of headers whose names are no text only that they are there."""
    try:
        headers: Any = message.headers() or []
    except UnicodeDecodeError:
        headers = UNREADABLE_HEADERS
    return RecordContent(
        offset=int(message.offset() or 0),
        timestamp_ms=int(message.timestamp()[1]),
        key=_to_bytes(message.key()),
        value=_to_bytes(message.value()),
        headers=tuple((str(name), _to_bytes(value)) for name, value in headers),
    )


def _is_end_of_log(error: KafkaError) -> bool:
    """True where no record will come; after any other error the client tries again by itself."""
    return error.name() == "_PARTITION_EOF"


def _to_bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
