"""Shared by the demo's Kafka clients: options without log lines, and typed reading of whole partitions."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from offset_sync.kafka.librdkafka import KEEPS_BROKERS
from offset_sync.model.errors import ClusterError

_SILENT = logging.getLogger("offset_sync_demo.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

Partition = tuple[str, int]
"""A topic and a partition number; a plain tuple, because one is built for each record."""

Headers = list[tuple[str, str | bytes | None]]


CLIENT_ERRORS = (KafkaException, SystemError)
"""Raised by poll, flush and produce after a fatal error of a client.

Any call that serves events may raise it, in spite of the error callback; if that call then runs a delivery callback,
Python reports the pending exception as a SystemError.
"""


_WITHOUT_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
"""Errors of a broker that has just started and does not lead its partitions yet."""

_NEXT_TRY_S = 0.1


class Endpoint(Protocol):
    """A cluster's alias and address, as of an :class:`~offset_sync_demo.kafka.brokers.EmbeddedCluster`."""

    @property
    def alias(self) -> str: ...

    @property
    def bootstrap_servers(self) -> str: ...


class Received(Protocol):
    """A consumed record or event; in confluent-kafka's own types every field is optional."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Headers | None: ...
    def timestamp(self) -> tuple[int, int]: ...
    def error(self) -> KafkaError | None: ...


def client_options(bootstrap_servers: str, **options: Any) -> dict[str, Any]:
    """Return librdkafka options (``_`` for ``.``): no log lines on the terminal, quick reconnects and discovery."""
    return {
        **KEEPS_BROKERS,
        "bootstrap.servers": bootstrap_servers,
        "broker.address.family": "v4",
        # Brokers are killed on purpose here; librdkafka would print a line per refused connection, and some even at
        # level 0 unless there is a logger.
        "log_level": 0,
        "logger": _SILENT,
        "error_cb": _ignore,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.fast.interval.ms": 100,
        **{name if name.endswith("_cb") else name.replace("_", "."): value for name, value in options.items()},
    }


def admin_of(cluster: Endpoint) -> AdminClient:
    """Return an admin client with the options above."""
    return AdminClient(client_options(cluster.bootstrap_servers))


def open_partition_reader(cluster: Endpoint, name: str) -> Consumer:
    """Return a read_committed consumer for ``assign``: it joins no group and commits nothing.

    It reports the end of a partition as an event: only that shows that just transaction markers are left, as a
    consumer's position stops before them.
    """
    options = client_options(
        cluster.bootstrap_servers,
        group_id=name,
        enable_auto_commit=False,
        enable_partition_eof=True,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        fetch_wait_max_ms=50,
        queued_max_messages_kbytes=16384,
    )
    return Consumer(options)


def discard(producer: Producer) -> None:
    """Drop the producer's unsent records, so that closing it does not wait for a dead broker."""
    with contextlib.suppress(*CLIENT_ERRORS):
        producer.purge()
        producer.flush(1.0)


def read_batch(consumer: Consumer, most: int, wait_seconds: float) -> Sequence[Received]:
    """Return up to *most* records and events; waits at most *wait_seconds* for that many."""
    return cast(Sequence[Received], consumer.consume(most, wait_seconds))


def is_partition_end(error: KafkaError) -> bool:
    """True for the end-of-partition event; its offset is that of the next record."""
    return bool(error.code() == KafkaError._PARTITION_EOF)


def read_partition(cluster: Endpoint, partition: Partition, timeout: float = 60.0) -> Iterator[Received]:
    """Yield every committed record of one partition, as :func:`read_partitions` does."""
    return read_partitions(cluster, [partition], timeout)


def read_partitions(cluster: Endpoint, partitions: Iterable[Partition], timeout: float = 60.0) -> Iterator[Received]:
    """Yield every committed record of the partitions, up to their present ends.

    Later records may be included. Raises ClusterError if it takes longer than *timeout* seconds, also for a partition
    without a leader.
    """
    consumer = open_partition_reader(cluster, "dump")
    deadline = time.monotonic() + timeout
    try:
        # Reading until no record is left might never end in a log that keeps growing.
        ends = {place: _end_in_time(cluster, consumer, place, deadline) for place in partitions}
        left = {place: end for place, end in ends.items() if end > 0}
        consumer.assign([TopicPartition(*place, 0) for place in left])
        while left:
            if time.monotonic() > deadline:
                names = ", ".join(f"{topic}-{number}" for topic, number in left)
                raise ClusterError(
                    cluster.alias, f"{names}: not read to the end in {timeout:g} s; is the broker running?"
                )
            for message in read_batch(consumer, 1000, 0.1):
                place, error = (message.topic(), message.partition()), message.error()
                if error is None:
                    yield message
                if is_partition_end(error) if error is not None else message.offset() >= ends[place] - 1:
                    left.pop(place, None)
    finally:
        consumer.close()


def _end_in_time(cluster: Endpoint, consumer: Consumer, partition: Partition, deadline: float) -> int:
    try:
        return _stable_end(consumer, partition, max(0.1, deadline - time.monotonic()))
    except KafkaException as problem:
        name = f"{partition[0]}-{partition[1]}"
        raise ClusterError(
            cluster.alias, f"{name}: no leader answered with its end; is the broker running?"
        ) from problem


def list_partitions(cluster: Endpoint, topics: Iterable[str], timeout: float = 10.0) -> list[Partition]:
    """Return all partitions of the topics; raises ClusterError for a topic that does not exist."""
    known = admin_of(cluster).list_topics(timeout=timeout).topics
    wanted = list(topics)
    missing = [topic for topic in wanted if topic not in known]
    if missing:
        raise ClusterError(cluster.alias, f"no topic {', '.join(missing)}; create it first")
    return [(topic, number) for topic in wanted for number in sorted(known[topic].partitions)]


def stable_ends(cluster: Endpoint, partitions: Iterable[Partition], timeout: float = 10.0) -> dict[Partition, int]:
    """Return, per partition, the end that a read_committed reader can reach now (the last stable offset).

    Raises KafkaException if the cluster does not answer in *timeout* seconds, or a partition has no leader by then.
    """
    consumer = open_partition_reader(cluster, "ends")
    try:
        return {place: _stable_end(consumer, place, timeout) for place in partitions}
    finally:
        consumer.close()


def _stable_end(consumer: Consumer, partition: Partition, timeout: float) -> int:
    ends_at = time.monotonic() + timeout
    while True:
        try:
            marks = consumer.get_watermark_offsets(TopicPartition(*partition), timeout)
        except KafkaException as problem:
            if problem.args[0].code() not in _WITHOUT_LEADER_YET or time.monotonic() > ends_at:
                raise
            time.sleep(_NEXT_TRY_S)
            continue
        if marks is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return int(marks[1])


def _ignore(_error: object) -> None:
    """Ignore librdkafka's connection errors: readers and producers see errors that matter in their results."""
