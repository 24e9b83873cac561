"""How far a log can be read, and waiting for more: against brokers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from broker.crafted_logs import create_topics
from offset_sync.kafka.log_tail import LogTail
from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.broker

TOPIC = "tail"


@pytest.fixture(scope="module")
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    create_topics(clusters["dc1"], {TOPIC: 2})
    return clusters["dc1"]


@pytest.fixture
def tail(cluster: EmbeddedCluster) -> Iterator[LogTail]:
    found = LogTail("dc1", options(cluster), TOPIC, 2)
    yield found
    found.close()


def options(cluster: EmbeddedCluster) -> dict[str, str]:
    return {"bootstrap.servers": cluster.bootstrap_servers}


def produce(cluster: EmbeddedCluster, partition: int, count: int = 1) -> None:
    producer = Producer(options(cluster))
    for _ in range(count):
        producer.produce(TOPIC, b"x", partition=partition)
    assert producer.flush(30) == 0


def test_what_stands_behind_an_open_transaction_is_not_to_be_read_yet(cluster: EmbeddedCluster, tail: LogTail) -> None:
    before = tail.ends()
    producer = Producer({**options(cluster), "transactional.id": "tail"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(TOPIC, b"x", partition=1)
    producer.flush(30)
    produce(cluster, 1, 3)
    assert tail.ends() == before
    producer.commit_transaction()
    assert tail.ends() == {0: before[0], 1: before[1] + 5}


def test_it_waits_no_longer_than_until_a_record_comes_whichever_time_that_is(
    cluster: EmbeddedCluster, tail: LogTail
) -> None:
    for partition in (0, 1, 1, 0):
        ends = tail.ends()
        threading.Timer(1.0, produce, (cluster, partition)).start()
        began = time.monotonic()
        tail.wait(ends, 30.0)
        assert 0.5 < time.monotonic() - began < 10
        assert tail.ends() == {**ends, partition: ends[partition] + 1}


def test_what_was_there_before_is_no_reason_to_end_the_wait(cluster: EmbeddedCluster, tail: LogTail) -> None:
    tail.wait(tail.ends(), 0.1)
    produce(cluster, 0, 20)
    began = time.monotonic()
    tail.wait(tail.ends(), 2.0)
    assert time.monotonic() - began >= 2


def test_where_an_end_is_not_known_it_is_an_error_that_names_the_partition(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ClusterError, match="no answer about where tail ends: partitions 2, 3"):
        LogTail("dc1", options(cluster), TOPIC, 4).ends()
