"""What a MirrorMaker 2 that stamps nothing copies: its settings, records that look alike, and transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from broker.crafted_logs import Clusters
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options, is_partition_end

PLAIN, PAID = "plain", "paid"
TOPICS = (PLAIN, PAID)
RECORDS, TRANSACTIONS = 4_001, 150
_WORKER = {
    # A worker that was killed is missed soon, and its tasks are given to the next one at once.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    "plugin.discovery": "service_load",
}


def mirror_maker(clusters: Clusters) -> str:
    """Return ``mm2.properties``: what is copied, what makes it start soon, and nothing about copies."""
    settings = {
        "clusters": "dc1, dc2",
        **{f"{alias}.bootstrap.servers": clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")},
        "dc1->dc2.enabled": "true",
        "dc1->dc2.topics": ", ".join(TOPICS),
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "sync.group.offsets.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "plugin.discovery": "service_load",
        **{f"{kind}.replication.factor": "1" for kind in ("checkpoints.topic", "offset-syncs.topic")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status", "config")},
        "replication.factor": "1",
        **{f"dc2.{name}": value for name, value in _WORKER.items()},
    }
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


def produce_plain(cluster: EmbeddedCluster, stop: threading.Event, records: int = RECORDS) -> None:
    """Write records at a pace; every tenth looks like the one before: a producer sends again after a timeout."""
    producer = Producer(client_options(cluster.bootstrap_servers, linger_ms=5))
    at_ms = int(time.time() * 1000)
    for number in range(records):
        twin = number - (number % 10 == 9)
        headers = [("trace", b"%d" % twin), ("empty", None)] if number % 3 else None
        key = None if twin % 7 == 0 else b"key %d" % (twin % 50)
        value = None if twin % 11 == 0 and key else b"value %d" % twin
        producer.produce(PLAIN, value, key, partition=0, timestamp=at_ms + twin, headers=headers)
        if number % 50 == 0:
            producer.poll(0)
            stop.wait(0.1)
    assert producer.flush(300) == 0


def produce_paid(cluster: EmbeddedCluster, stop: threading.Event) -> None:
    """Write transactions of three records, of which every fifth is aborted and made once more."""
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id="paid", linger_ms=1))
    producer.init_transactions(300)
    for number in range(TRANSACTIONS):
        for is_aborted in (True, False) if number % 5 == 0 else (False,):
            producer.begin_transaction()
            for part in range(3):
                producer.produce(PAID, b"%d of %d" % (part, number), b"payer", partition=0)
            producer.flush(300)
            producer.abort_transaction(300) if is_aborted else producer.commit_transaction(300)
        stop.wait(0.05)


Contents = tuple[int, bytes | None, bytes | None, tuple[Any, ...]]


def read(cluster: EmbeddedCluster, topic: str) -> tuple[list[tuple[int, Contents]], int]:
    """Return offset and contents of all records, those of aborted transactions too, and where the log ends."""
    options = {"group.id": "judge", "enable.partition.eof": True, "enable.auto.commit": False}
    options |= {"isolation.level": "read_uncommitted", "auto.offset.reset": "earliest"}
    consumer = Consumer(client_options(cluster.bootstrap_servers) | options)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[int, Contents]] = []
    try:
        while True:
            for message in consumer.consume(1_000, 1.0):
                if (error := message.error()) is None:
                    headers = tuple(message.headers() or ())
                    contents = (message.timestamp()[1], message.key(), message.value(), headers)
                    found.append((message.offset() or 0, contents))
                elif is_partition_end(error):
                    return found, message.offset() or 0
    finally:
        consumer.close()


def first_unread(source: Sequence[tuple[int, Contents]], offset: int, target: Sequence[tuple[int, Contents]]) -> int:
    """Return the first record at the target whose contents the source has only from *offset* on; -1: none."""
    read_before = {contents for at, contents in source if at < offset}
    return next((at for at, contents in target if contents not in read_before), -1)
