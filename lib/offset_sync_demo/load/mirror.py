"""A small data mirror for tests and benchmarks: copies records of one cluster to another, stamped.

It replaces the mirror tool of a real installation; Offset Sync reads its headers only.

    source, partition 0:   a0  a1 [b7]  a2          [b7] is a copy itself: not copied again
    target, partition 0:   b7 [a0] [a1] b8 [a2]     same partition, same order, same timestamp

``position`` never passes a record that the target has not acknowledged: a mirror that starts there again may repeat
records, and skips none.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import cast

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Message, Producer, TopicPartition

from offset_sync_demo.kafka.clients import (
    CLIENT_ERRORS,
    Endpoint,
    Headers,
    Partition,
    Received,
    client_options,
    discard,
    is_partition_end,
    list_partitions,
    open_partition_reader,
    read_batch,
    stable_ends,
)

_BATCH = 1000
_WAIT_SECONDS = 0.05


class _Lane:
    """The state of one partition: how far the source was read, and which of its offsets are in flight."""

    def __init__(self, start: int) -> None:
        self.read_to = start
        self.in_flight: deque[int] = deque()

    @property
    def position(self) -> int:
        return self.in_flight[0] if self.in_flight else self.read_to


ORIGIN_HEADER, OFFSET_HEADER = "IDC", "Offset"
"""The headers of a copy, by their default names."""


class Mirror:
    """One direction in one thread. It waits while a cluster is down, and continues when the cluster is back."""

    def __init__(
        self,
        source: Endpoint,
        target: Endpoint,
        topics: Sequence[str],
        *,
        origin_value: str | None = None,
        position: Mapping[Partition, int] | None = None,
    ) -> None:
        """*origin_value* is by default the source's alias; *position* by default the beginning of each partition."""
        self.source, self.target, self.topics = source, target, list(topics)
        self._origin_value = (source.alias if origin_value is None else origin_value).encode()
        self._lanes: dict[Partition, _Lane] = {}
        self._position: dict[Partition, int] = dict(position or {})
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_broken = False
        self._flush_seconds = 0.0
        self.copied = 0
        self.last_error: str | None = None

    @property
    def position(self) -> dict[Partition, int]:
        """Per partition the source offset below which the target has acknowledged all records."""
        return dict(self._position)

    def start(self) -> None:
        """Start from :attr:`position`; raises KafkaException when the source does not answer."""
        self._stopping.clear()
        partitions = list_partitions(self.source, self.topics)
        name = f"mirror-{self.source.alias}-{self.target.alias}"
        consumer = open_partition_reader(self.source, name)
        self._lanes = {place: _Lane(self._position.get(place, 0)) for place in partitions}
        self._thread = threading.Thread(target=self._run, args=(consumer,), name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Read no more records, wait at most *timeout* seconds for acknowledgements, and end."""
        self._end(timeout)

    def kill(self) -> None:
        """End at once, as in a crash: records in flight may arrive, and are sent again after a start."""
        self._end(0.0)

    def lag(self) -> int:
        """Return how many offsets of the source are not acknowledged yet; raises KafkaException if it is down."""
        position = self._position
        ends = stable_ends(self.source, self._lanes)
        return sum(max(0, end - position.get(place, 0)) for place, end in ends.items())

    def drain(self, timeout: float = 30.0) -> None:
        """Return when the target has acknowledged all that is readable at the source now; raises TimeoutError."""
        deadline = time.monotonic() + timeout
        ends = stable_ends(self.source, self._lanes)
        while behind := {place: end for place, end in ends.items() if self._position.get(place, 0) < end}:
            if time.monotonic() > deadline:
                reason = f"; last error: {self.last_error}" if self.last_error else ""
                raise TimeoutError(f"{self.source.alias} to {self.target.alias}: not drained: {behind}{reason}")
            time.sleep(0.02)

    def _end(self, flush_seconds: float) -> None:
        if self._thread is None:
            return
        self._flush_seconds = flush_seconds
        self._stopping.set()
        self._thread.join(flush_seconds + 30)
        self._thread = None

    def _run(self, consumer: Consumer) -> None:
        producer = self._open_producer()
        self._assign(consumer)
        while not self._stopping.is_set():
            try:
                self._copy_batch(consumer, producer)
            except CLIENT_ERRORS as error:
                self._break(str(error))
            if self._is_broken and not self._stopping.wait(1.0):
                discard(producer)
                producer = self._open_producer()
                self._assign(consumer)
        self._finish(consumer, producer)

    def _finish(self, consumer: Consumer, producer: Producer) -> None:
        with contextlib.suppress(*CLIENT_ERRORS):
            if self._flush_seconds > 0:
                producer.flush(self._flush_seconds)
        self._publish()
        self._break(None)
        discard(producer)
        consumer.close()

    def _open_producer(self) -> Producer:
        # No timeout per message: while the target is down the mirror must wait, not skip a record.
        return Producer(
            client_options(
                self.target.bootstrap_servers,
                enable_idempotence=True,
                enable_gapless_guarantee=True,
                message_timeout_ms=0,
                linger_ms=5,
                queue_buffering_max_messages=20 * _BATCH,
            )
        )

    def _assign(self, consumer: Consumer) -> None:
        """(Re)start every lane at its position; records in flight of an earlier producer are sent again."""
        self._is_broken = False
        self._lanes = {place: _Lane(lane.position) for place, lane in self._lanes.items()}
        self._publish()
        consumer.assign([TopicPartition(topic, number, lane.read_to) for (topic, number), lane in self._lanes.items()])

    def _copy_batch(self, consumer: Consumer, producer: Producer) -> None:
        for message in read_batch(consumer, _BATCH, _WAIT_SECONDS):
            error = message.error()
            if error is None:
                self._take(message, producer)
            elif is_partition_end(error):
                lane = self._lane(message)
                lane.read_to = max(lane.read_to, message.offset())
            else:
                self.last_error = error.str()
        producer.poll(0)
        self._publish()

    def _take(self, message: Received, producer: Producer) -> None:
        lane, offset, headers = self._lane(message), message.offset(), message.headers() or []
        if not any(name == ORIGIN_HEADER for name, _ in headers):
            lane.in_flight.append(offset)
            stamps: Headers = [(ORIGIN_HEADER, self._origin_value), (OFFSET_HEADER, str(offset).encode())]
            self._send(message, [*headers, *stamps], producer)
        lane.read_to = offset + 1

    def _send(self, message: Received, headers: Headers, producer: Producer) -> None:
        kind, timestamp = message.timestamp()
        while not self._stopping.is_set():
            try:
                producer.produce(
                    message.topic(),
                    message.value(),
                    message.key(),
                    message.partition(),
                    on_delivery=self._acknowledge,
                    timestamp=0 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
                    headers=headers,
                )
                return
            except BufferError:
                producer.poll(_WAIT_SECONDS)

    def _acknowledge(self, error: KafkaError | None, message: Message) -> None:
        if self._is_broken:
            return
        if error is not None:
            self._break(error.str())
            return
        # An idempotent producer is acknowledged in the order of sending, per partition.
        self._lane(cast(Received, message)).in_flight.popleft()
        self.copied += 1

    def _break(self, reason: str | None) -> None:
        """Ignore further acknowledgements of this producer: they are matched by order, which a failure breaks."""
        self._is_broken = True
        self.last_error = reason or self.last_error

    def _lane(self, message: Received) -> _Lane:
        return self._lanes[message.topic(), message.partition()]

    def _publish(self) -> None:
        """Publish all positions to other threads at once."""
        self._position = {**self._position, **{place: lane.position for place, lane in self._lanes.items()}}
