"""A consumer whose membership keeps other clients from committing for its group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer

from broker.installation import until
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options


@contextmanager
def member(cluster: EmbeddedCluster, group_id: str, topic: str) -> Iterator[None]:
    """A consumer that has joined the group and reads nothing."""
    options = client_options(cluster.bootstrap_servers, group_id=group_id, enable_auto_commit=False)
    consumer = Consumer(options)
    consumer.subscribe([topic])
    try:
        until(lambda: consumer.poll(0.2) is not None or consumer.assignment())
        consumer.pause(consumer.assignment())
        yield
    finally:
        consumer.close()
