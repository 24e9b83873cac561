"""Kafka Streams and Spring's listener container with the interceptor of `consumer/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.committed_offsets import committed
from broker.installation import until
from consumer.applications import Application, spring_reader, streams_reader
from consumer.crossing import SEEN, Crossing, write_crossing
from consumer.skip_read_jar import jar_or_skip
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def jar(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar of the interceptor."""
    return jar_or_skip(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def crossing(clusters: dict[str, EmbeddedCluster]) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(clusters["dc1"], "skip-read-frameworks")


def wait(application: Application, crossing: Crossing) -> None:
    """Return once as many records have come as are due."""
    due = sum(crossing.due().values())
    until(lambda: application.process.poll() is not None or sum(application.values().values()) >= due, 120)


def test_kafka_streams_gets_what_is_due_and_commits_what_was_skipped(
    crossing: Crossing, group_name: str, jar: Path, tmp_path: Path
) -> None:
    crossing.give(group_name)
    how = {"protocol": "classic", "guarantee": "exactly_once_v2"}
    with streams_reader(crossing, group_name, tmp_path, jar, **how, pause_ms=5) as application:
        until(lambda: sum(application.values().values()) >= 50, 120)
    assert sum(application.values().values()) < sum(crossing.due().values())
    with streams_reader(crossing, group_name, tmp_path, jar, **how) as application:
        until(lambda: application.process.poll() is not None or crossing.is_committed(group_name), 120)
    assert application.values() == crossing.due()
    assert committed(crossing.cluster, [SEEN + group_name])[SEEN + group_name]


def test_a_listener_container_of_spring_gets_what_is_due_also_where_it_seeks_back(
    crossing: Crossing, group_name: str, jar: Path, tmp_path: Path
) -> None:
    crossing.give(group_name)
    how = {"protocol": "consumer", "ack_mode": "RECORD"}
    with spring_reader(crossing, group_name, tmp_path, jar, **how) as application:
        wait(application, crossing)
    assert application.values() == crossing.due()
