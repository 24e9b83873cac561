"""A transaction that is left open on a real broker: how far its log can be read, what it holds back, what is told."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import admin_for
from broker.crafted_logs import Clusters, create_topics
from broker.installation import until
from builders.logs import log
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.jobs.metrics.logs import LogWatch
from offset_sync.kafka.requests import Reach
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options
from tools.prometheus_scrape import read

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(600)]
PARTITIONS = 8
"""Of ``__consumer_offsets`` on the brokers of the tests."""


def begun(cluster: EmbeddedCluster, name: str) -> Producer:
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=f"{name}-producer"))
    producer.init_transactions(120)
    producer.begin_transaction()
    return producer


def produce(cluster: EmbeddedCluster, topic: str, count: int) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers))
    for _ in range(count):
        producer.produce(topic, b"plain", partition=0)
    assert producer.flush(120) == 0


def test_an_open_transaction_parts_the_ends_of_its_log_and_the_watch_tells_of_the_stall(
    clusters: Clusters, topic_name: str
) -> None:
    cluster, admin = clusters["dc1"], admin_for(clusters["dc1"])
    place, other = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    create_topics(cluster, {topic_name: 2})
    produce(cluster, topic_name, 2)
    transaction = begun(cluster, topic_name)
    transaction.produce(topic_name, b"open", partition=0)
    transaction.flush(120)
    now, index = [100.0], MemoryIndex()
    index.extend(log("dc1", "d0:1"), place)
    config = config_of(["dc1", "dc2"], topics={"include": [topic_name]})
    watch = LogWatch(config, {"dc1": admin}, index, lambda: now[0])
    watch.check()
    produce(cluster, topic_name, 3)
    assert admin.reaches(lambda name: name == topic_name) == {place: Reach(2, 6), other: Reach(0, 0)}
    now[0] += 30
    watch.check()
    scraped = read([watch])
    assert scraped.values("log_stalled_seconds", "topic", cluster="dc1")[topic_name] == 30
    assert scraped.value("index_behind_seconds", cluster="dc1") == 30
    transaction.abort_transaction(120)
    # The coordinator answers before its markers are in the logs.
    until(lambda: admin.reaches(lambda name: name == topic_name)[place] == Reach(7, 7), seconds=120)
    watch.check()
    scraped = read([watch])
    assert topic_name not in scraped.values("log_stalled_seconds", "topic", cluster="dc1")
    assert scraped.value("index_behind_seconds", cluster="dc1") == 30
