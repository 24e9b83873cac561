"""A consumer that is given its partitions by number: it joins no group and commits nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Message

from offset_sync.kafka.librdkafka import KEEPS_BROKERS
from offset_sync.model.errors import ClusterError

# Consumer wants an id all the same. Where a log ends is to be told, not waited for.
_OPTIONS = {
    **KEEPS_BROKERS,
    "group.id": "offset-sync-reader",
    "client.id": "offset-sync",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "isolation.level": "read_committed",
    "enable.partition.eof": "true",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "50",
    "log_level": "2",
}


@contextmanager
def log_consumer(alias: str, options: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[Consumer]:
    """Yield a consumer of the cluster *alias*; *options* are the cluster's, *wanted* what it is for: that wins.

    Raises ClusterError where the client refuses its options, or gives up inside.
    """
    try:
        consumer = Consumer({**_OPTIONS, **options, **wanted, "error_cb": lambda error: None})
    except (KafkaException, ValueError, TypeError) as error:
        raise ClusterError(alias, f"the client refuses its options: {error}") from error
    try:
        yield consumer
    except KafkaException as error:
        raise ClusterError(alias, str(error.args[0])) from error
    finally:
        consumer.close()


def next_messages(consumer: Consumer, most: int, seconds: float) -> list[Message]:
    """Return what is there now, at most so many; where nothing is, the first that comes within *seconds*.

    ``consume`` alone would wait until as many are there, or all of that time.
    """
    first = consumer.poll(seconds)
    return [first, *consumer.consume(most - 1, 0)] if first is not None else []
