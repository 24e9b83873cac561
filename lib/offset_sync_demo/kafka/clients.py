"""What the demo's Kafka clients share: options that keep them quiet, and typed reading of whole partitions."""

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
"""A topic and a partition number; plain tuples, because they are built once per record."""

Headers = list[tuple[str, str | bytes | None]]


CLIENT_ERRORS = (KafkaException, SystemError)
"""What poll, flush and produce raise once a client is beyond repair.

A fatal error is raised from whatever call serves it, past the error callback; when that call goes on to run a
delivery callback, Python reports the pending exception as a SystemError.
"""


class Endpoint(Protocol):
    """What a client has to know of a cluster; every :class:`~offset_sync_demo.kafka.brokers.EmbeddedCluster` is one."""

    @property
    def alias(self) -> str: ...

    @property
    def bootstrap_servers(self) -> str: ...


class Received(Protocol):
    """A consumed record or event as it really is: librdkafka's own types call every field optional."""

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
        # Brokers are killed on purpose here; librdkafka would print a line per refused connection, and some even
        # at level 0 unless a logger takes them.
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

    It reports the end of a partition as an event, which is the only way to see that nothing but transaction
    markers is left (a consumer's position stops before them).
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
    """Drop whatever the producer still holds, so that closing it does not wait for a dead broker."""
    with contextlib.suppress(*CLIENT_ERRORS):
        producer.purge()
        producer.flush(1.0)


def read_batch(consumer: Consumer, most: int, wait_seconds: float) -> Sequence[Received]:
    """Return up to *most* records and events; waits *wait_seconds* for them to be that many."""
    return cast(Sequence[Received], consumer.consume(most, wait_seconds))


def is_partition_end(error: KafkaError) -> bool:
    """True for the event that says: nothing readable is left; its offset is where the next record will be."""
    return bool(error.code() == KafkaError._PARTITION_EOF)


def read_partition(cluster: Endpoint, partition: Partition, timeout: float = 60.0) -> Iterator[Received]:
    """Yield every committed record of the partition, from its first to the end it has when this gets there.

    Raises ClusterError when that takes longer than *timeout* seconds.
    """
    consumer = open_partition_reader(cluster, "dump")
    consumer.assign([TopicPartition(*partition, 0)])
    deadline = time.monotonic() + timeout
    try:
        while time.monotonic() < deadline:
            for message in read_batch(consumer, 1000, 0.1):
                error = message.error()
                if error is None:
                    yield message
                elif is_partition_end(error):
                    return
        raise ClusterError(cluster.alias, f"{partition} was not read to its end in {timeout:g} s; is the broker alive?")
    finally:
        consumer.close()


def list_partitions(cluster: Endpoint, topics: Iterable[str], timeout: float = 10.0) -> list[Partition]:
    """Return all partitions of the topics; raises ClusterError for a topic that is not there."""
    known = admin_of(cluster).list_topics(timeout=timeout).topics
    wanted = list(topics)
    missing = [topic for topic in wanted if topic not in known]
    if missing:
        raise ClusterError(cluster.alias, f"no topic {', '.join(missing)}; create it first")
    return [(topic, number) for topic in wanted for number in sorted(known[topic].partitions)]


def stable_ends(cluster: Endpoint, partitions: Iterable[Partition], timeout: float = 10.0) -> dict[Partition, int]:
    """Return, per partition, the end that a read_committed reader can reach now (the last stable offset).

    Raises KafkaException when the cluster does not answer in *timeout* seconds.
    """
    consumer = open_partition_reader(cluster, "ends")
    try:
        return {place: _stable_end(consumer, place, timeout) for place in partitions}
    finally:
        consumer.close()


def _stable_end(consumer: Consumer, partition: Partition, timeout: float) -> int:
    marks = consumer.get_watermark_offsets(TopicPartition(*partition), timeout)
    if marks is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return int(marks[1])


def _ignore(_error: object) -> None:
    """Take librdkafka's connection errors: the reader or producer sees what matters in its own results."""
