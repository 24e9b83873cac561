"""A transaction that is left open on a real broker: how far the log can be read, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from broker.crafted_logs import create_topics
from broker.installation import until
from builders.logs import log
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.jobs.metrics.logs import LogWatch
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options
from tools.prometheus_scrape import read

pytestmark = pytest.mark.broker


@pytest.fixture
def cluster(clusters: dict[str, EmbeddedCluster]) -> EmbeddedCluster:
    return clusters["dc1"]


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> ClusterAdmin:
    return ClusterAdmin("dc1", {"bootstrap.servers": cluster.bootstrap_servers})


@pytest.fixture
def open_transaction(cluster: EmbeddedCluster, topic_name: str) -> Iterator[Producer]:
    """A transaction with its first record at offset 2 of partition 0, behind two plain ones."""
    create_topics(cluster, {topic_name: 2})
    produce(cluster, topic_name, 2)
    producer = Producer(client_options(cluster.bootstrap_servers, **{"transactional.id": topic_name}))
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic_name, b"open", partition=0)
    producer.flush(120)
    yield producer
    producer.purge()


def produce(cluster: EmbeddedCluster, topic: str, count: int) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers))
    for _ in range(count):
        producer.produce(topic, b"plain", partition=0)
    assert producer.flush(120) == 0


def test_an_open_transaction_parts_the_ends_of_its_partition_until_it_is_over(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic_name: str, open_transaction: Producer
) -> None:
    produce(cluster, topic_name, 3)
    first, other = TopicPartition(topic_name, 0), TopicPartition(topic_name, 1)
    assert admin.reaches(lambda name: name == topic_name) == {first: Reach(2, 6), other: Reach(0, 0)}
    open_transaction.commit_transaction(120)
    # The coordinator answers before its markers are in the logs.
    until(lambda: admin.reaches(lambda name: name == topic_name)[first] == Reach(7, 7), seconds=120)


def test_only_wanted_topics_are_asked_for_and_internal_ones_can_be(admin: ClusterAdmin) -> None:
    admin.committed_offsets(["any"])  # waits until the cluster has its topic of offsets
    assert {place.topic for place in admin.reaches(lambda name: name == "__consumer_offsets")} == {"__consumer_offsets"}
    assert admin.reaches(lambda name: False) == {}


def test_the_watch_tells_of_the_stall_and_of_its_end(
    cluster: EmbeddedCluster, admin: ClusterAdmin, topic_name: str, open_transaction: Producer
) -> None:
    now, index = [100.0], MemoryIndex()
    index.extend(log("dc1", "d0:1"), TopicPartition(topic_name, 0))
    config = config_of(["dc1", "dc2"], topics={"include": [topic_name]})
    watch = LogWatch(config, {"dc1": admin}, index, lambda: now[0])
    watch.check()
    produce(cluster, topic_name, 3)
    now[0] += 30
    watch.check()
    scraped = read([watch])
    assert scraped.values("log_stalled_seconds", "topic", cluster="dc1")[topic_name] == 30
    assert scraped.value("index_behind_records", cluster="dc1") == 1
    open_transaction.abort_transaction(120)
    place = TopicPartition(topic_name, 0)
    until(lambda: admin.reaches(lambda name: name == topic_name)[place] == Reach(7, 7), seconds=120)
    watch.check()
    scraped = read([watch])
    assert topic_name not in scraped.values("log_stalled_seconds", "topic", cluster="dc1")
    assert scraped.value("index_behind_records", cluster="dc1") == 6
    assert scraped.value("cluster_up", cluster="dc1") == 1


@pytest.mark.timeout(50)  # less than the client takes without a deadline
def test_a_dead_cluster_is_an_error_by_the_deadline() -> None:
    with pytest.raises(ClusterError, match=r"clusters\.dc9: "):
        ClusterAdmin("dc9", {"bootstrap.servers": "127.0.0.1:1"}).reaches(lambda name: True, deadline=0.5)
