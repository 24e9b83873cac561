"""Threads that produce the workload's records at one cluster, plainly or in transactions, some of them aborted."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from offset_sync_demo.kafka.clients import CLIENT_ERRORS, Endpoint, Partition, Received, client_options, discard
from offset_sync_demo.load.rate import Pace
from offset_sync_demo.load.records import RecordLog, log_of, record_id, record_value

_TICK_SECONDS = 0.02
_TRANSACTION_SECONDS = 0.2


@dataclass(frozen=True)
class TopicLoad:
    """The load of one topic: *rate* records a second at all clusters together.

    Of a transactional topic every *abort_every*-th transaction is aborted (0: none).
    """

    topic: str
    partitions: int
    rate: float
    is_transactional: bool = False
    abort_every: int = 4


ShareOf = Callable[[str], float]
"""The share of a topic's rate that one cluster produces now, 0.0 to 1.0."""


class _Feed:
    """The records of one topic at one cluster, numbered per partition, round-robin."""

    def __init__(self, cluster: Endpoint, load: TopicLoad) -> None:
        self.load = load
        self.pace = Pace()
        self._alias = cluster.alias
        self._numbers = [0] * load.partitions
        self._turn = 0

    def send_next(self, producer: Producer, on_sent: Callable[[int, KafkaError | None, Message], None]) -> None:
        """Produce one record; after a BufferError the next call sends the same record."""
        topic, partition = self.load.topic, self._turn
        number = self._numbers[partition]
        identity = record_id(self._alias, number)
        producer.produce(
            topic,
            record_value(self._alias, topic, partition, number),
            key=str(number % 1000).encode(),
            partition=partition,
            on_delivery=functools.partial(on_sent, identity),
        )
        self._numbers[partition] = number + 1
        self._turn = (partition + 1) % self.load.partitions


class ProducingThread:
    """Produces the given topics at one cluster; keeps the acknowledged records with their offsets.

    A record that may or may not have been written (its broker died) is in neither *acknowledged* nor *aborted*.
    """

    def __init__(self, cluster: Endpoint, loads: Sequence[TopicLoad], share_of: ShareOf) -> None:
        self._cluster, self._share_of = cluster, share_of
        self._feeds = [_Feed(cluster, load) for load in loads]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"produce-{cluster.alias}", daemon=True)
        self._flush_seconds = 0.0
        self._is_busy = False
        self._lost: KafkaError | None = None
        self.acknowledged: dict[Partition, RecordLog] = {}
        self.aborted: dict[Partition, RecordLog] = {}
        self.last_error: str | None = None

    def start(self) -> None:
        """Start producing."""
        self._thread.start()

    def ask_to_stop(self, flush_seconds: float) -> None:
        """Have the thread send no more records, and wait at most *flush_seconds* for those in flight."""
        self._flush_seconds = flush_seconds
        self._stopping.set()

    def join(self) -> None:
        """Return when the thread has ended."""
        self._thread.join(self._flush_seconds + 15)

    @property
    def is_quiet(self) -> bool:
        """True if no record is in flight and no topic has a share here."""
        return not self._is_busy and all(self._share_of(feed.load.topic) <= 0 for feed in self._feeds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            producer = self._open_producer()
            try:
                self._produce(producer)
            except CLIENT_ERRORS as error:
                self.last_error = str(error)
                self._stopping.wait(0.5)
            discard(producer)
        self._is_busy = False

    def _open_producer(self) -> Producer:
        return Producer(
            client_options(
                self._cluster.bootstrap_servers,
                enable_idempotence=True,
                message_timeout_ms=10_000,
                linger_ms=5,
                queue_buffering_max_messages=20_000,
            )
        )

    def _produce(self, producer: Producer) -> None:
        """Produce until the thread is asked to stop; raises one of CLIENT_ERRORS once a record was not delivered.

        After that an idempotent producer of librdkafka may deliver no records any more, even if its broker is back.
        """
        self._lost = None
        while not self._stopping.wait(_TICK_SECONDS):
            if self._lost is not None:
                raise KafkaException(self._lost)
            self._is_busy = True  # before the shares are read: see is_quiet
            for feed in self._feeds:
                self._send_due(feed, producer)
            producer.poll(0)
            self._is_busy = len(producer) > 0
        producer.flush(self._flush_seconds)

    def _send_due(self, feed: _Feed, producer: Producer) -> None:
        try:
            for _ in range(feed.pace.due(feed.load.rate * self._share_of(feed.load.topic))):
                feed.send_next(producer, self._delivered)
        except BufferError:
            self.last_error = "the producer's queue is full: the broker does not answer"

    def _delivered(self, identity: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            _keep(self.acknowledged, identity, cast(Received, message))
        else:
            self._lost = error


class TransactionThread(ProducingThread):
    """Produces one topic in transactions of a fraction of a second, some of which it aborts."""

    def __init__(self, cluster: Endpoint, load: TopicLoad, share_of: ShareOf) -> None:
        super().__init__(cluster, [load], share_of)
        self._feed = self._feeds[0]
        self._written: list[tuple[int, Received]] = []

    def _open_producer(self) -> Producer:
        return Producer(
            client_options(
                self._cluster.bootstrap_servers,
                transactional_id=f"workload-{self._cluster.alias}-{self._feed.load.topic}",
                transaction_timeout_ms=10_000,
                message_timeout_ms=5_000,
                linger_ms=5,
            )
        )

    def _produce(self, producer: Producer) -> None:
        """Run transactions; the start of the next producer aborts one that an error has left open."""
        load, count = self._feed.load, 0
        producer.init_transactions(5.0)
        while not self._stopping.wait(_TRANSACTION_SECONDS):
            self._is_busy = True
            due = self._feed.pace.due(load.rate * self._share_of(load.topic))
            if due:
                count += 1
                self._run_one(producer, due, aborts=load.abort_every > 0 and count % load.abort_every == 0)
            self._is_busy = False

    def _run_one(self, producer: Producer, records: int, *, aborts: bool) -> None:
        self._written = []
        producer.begin_transaction()
        for _ in range(records):
            self._feed.send_next(producer, self._delivered)
        producer.flush(5.0)  # an abort would drop unsent records, which would never reach the log
        if aborts:
            producer.abort_transaction(5.0)
        else:
            producer.commit_transaction(5.0)
        for identity, message in self._written:
            _keep(self.aborted if aborts else self.acknowledged, identity, message)

    def _delivered(self, identity: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._written.append((identity, cast(Received, message)))
        else:
            self.last_error = error.str()


def _keep(logs: dict[Partition, RecordLog], identity: int, message: Received) -> None:
    place = (message.topic(), message.partition())
    log_of(logs, place).add(identity, message.offset(), message.timestamp()[1])
