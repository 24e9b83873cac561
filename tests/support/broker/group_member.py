"""What keeps others from a group's offsets: a member, and a transaction that is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition

from broker.committed_offsets import Partition
from broker.installation import until
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options


@contextmanager
def member(cluster: EmbeddedCluster, group_id: str, topic: str, protocol: str = "classic") -> Iterator[None]:
    """A consumer that has joined the group and reads nothing."""
    options = {"group_id": group_id, "group_protocol": protocol, "enable_auto_commit": False}
    consumer = Consumer(client_options(cluster.bootstrap_servers, **options))
    consumer.subscribe([topic])
    try:
        until(lambda: consumer.poll(0.2) is not None or consumer.assignment())
        consumer.pause(consumer.assignment())
        yield
    finally:
        consumer.close()


@contextmanager
def transaction(cluster: EmbeddedCluster, group_id: str, place: Partition, offset: int) -> Iterator[Producer]:
    """A transaction that has committed an offset for a group without a member and is open, as Spark's and Flink's."""
    options = {"transactional_id": group_id, "transaction_timeout_ms": 600_000}
    producer = Producer(client_options(cluster.bootstrap_servers, **options))
    producer.init_transactions(120)
    producer.begin_transaction()
    lender = Consumer(client_options(cluster.bootstrap_servers, group_id=group_id))  # only lends the group's name
    producer.send_offsets_to_transaction([TopicPartition(*place, offset)], lender.consumer_group_metadata(), 120)
    lender.close()
    yield producer
