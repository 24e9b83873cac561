"""An application of Kafka Streams with a repartition topic and ``group.protocol=streams`` is moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.broker_versions import needs_streams_groups
from broker.committed_offsets import admin_for, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import install, until
from consumer.applications import Application, streams_counter
from consumer.moving import cutover
from consumer.skip_read_jar import jar_or_skip
from offset_sync.kafka.requests import ACTIVE_GROUP
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options
from offset_sync_demo.load.mirror import Mirror

pytestmark = [needs_streams_groups, pytest.mark.timeout(600)]

PARTITIONS = 2
HOW = {"protocol": "streams", "guarantee": "at_least_once"}


def values(numbers: Iterable[int]) -> list[str]:
    return [f"{'abc'[number % 3]}-{number}" for number in numbers]


def produce(cluster: EmbeddedCluster, topic: str, numbers: Iterable[int]) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers, linger_ms=1))
    for number, text in enumerate(values(numbers)):
        producer.produce(topic, text.encode(), text[:1].encode(), partition=number % PARTITIONS)
    assert producer.flush(60) == 0


def wait_counted(running: Application, wanted: Iterable[int]) -> None:
    """Return once exactly *wanted* are counted behind the repartition topic."""
    wanted = sorted(values(wanted))

    def counted() -> list[str]:
        lines = (line.split(maxsplit=1) for line in running.values().elements())
        return sorted(Counter(value for word, value in lines if word == "counted").elements())

    until(lambda: running.process.poll() is not None or len(counted()) >= len(wanted), 120)
    assert counted() == wanted


def error_of_commit(cluster: EmbeddedCluster, group_id: str, topic: str) -> str | None:
    write = OffsetWrite(group_id, topic, 0, 1, None, None)
    answer = admin_for(cluster).write_offsets({group_id: [write]})[group_id]
    assert not isinstance(answer, ClusterError), answer
    return answer[TopicPartition(topic, 0)]


def test_an_application_moves_once_it_is_confirmed_to_be_stopped_and_to_have_processed_all(
    clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    jar_or_skip(tmp_path / "dist")  # needs a compiler
    topic, group = topic_name, f"{topic_name}-app"
    topics = topic, f"{topic}-counts"
    for cluster in clusters.values():
        create_topics(cluster, dict.fromkeys(topics, PARTITIONS))
    installation = install(tmp_path / "jobs", clusters, [topic], status={"page": str(tmp_path / "status.html")})
    planned = ("apply", "dc1", "dc2", "--groups", group, "--timeout", "15s", "--planned")

    def refused(*options: str) -> str:
        (line,) = cutover(installation, *planned, *options)
        return line

    produce(clusters["dc1"], topic, range(30))
    with streams_counter(clusters["dc1"], group, topics, tmp_path / "dc1", **HOW) as running:
        wait_counted(running, range(30))
        until(lambda: any("repartition" in place[0] for place in committed(clusters["dc1"], [group])[group]), 120)
        assert error_of_commit(clusters["dc1"], group, topic) in ACTIVE_GROUP
    produce(clusters["dc1"], topic, range(30, 40))
    mirror = Mirror(clusters["dc1"], clusters["dc2"], [topic])
    mirror.start()
    mirror.drain(60)
    mirror.stop()
    assert (installation.index(), installation.sync()) == ([], [])
    assert "dc1 does not list it: it is of another type" in refused("--confirm-internal")
    assert f"records of {group}-by-letter-repartition that it has not processed" in refused("--confirm-readers")
    assert cutover(installation, *planned, "--confirm-readers", "--confirm-internal") == []
    with streams_counter(clusters["dc2"], group, topics, tmp_path / "dc2", **HOW) as running:
        wait_counted(running, range(30, 40))
