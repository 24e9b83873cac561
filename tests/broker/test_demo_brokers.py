from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition

from broker.installation import until
from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE, find_jars
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import admin_of, client_options, open_partition_reader
from offset_sync_demo.kafka.topics import add_partitions, create_topic, delete_topic, partition_count

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]

_PROGRAM = """
import sys, time
from pathlib import Path
from offset_sync_demo.kafka.brokers import start_clusters
cluster = start_clusters(["dc9"], Path(sys.argv[1]))["dc9"]
print(cluster.process.pid, flush=True)
time.sleep(600)
"""


def test_a_killed_broker_comes_back_at_its_address_with_its_topics(clusters: Clusters, topic_name: str) -> None:
    dc2 = clusters["dc2"]
    create_topic(dc2, topic_name, 3)
    address = dc2.bootstrap_servers

    dc2.kill()
    assert not dc2.is_running
    dc2.start()

    assert dc2.bootstrap_servers == address
    assert partition_count(dc2, topic_name) == 3


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has mapped is asked of Linux")
def test_a_broker_starts_from_the_archive_of_its_classes(clusters: Clusters) -> None:
    archive = find_jars() / CLASS_ARCHIVE
    assert archive.is_file(), "make install makes it"
    process = clusters["dc1"].process
    assert process is not None
    assert str(archive) in Path(f"/proc/{process.pid}/maps").read_text()


def test_a_restart_keeps_the_topics(clusters: Clusters, topic_name: str) -> None:
    create_topic(clusters["dc2"], topic_name, 2)
    number = clusters["dc2"].process.pid

    clusters["dc2"].restart()

    assert clusters["dc2"].process.pid != number
    assert partition_count(clusters["dc2"], topic_name) == 2


def test_a_paused_broker_answers_nothing_until_it_is_resumed(clusters: Clusters) -> None:
    dc1 = clusters["dc1"]
    admin = admin_of(dc1)
    admin.list_topics(timeout=120)

    dc1.pause()
    try:
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1)
        assert dc1.is_running
    finally:
        dc1.resume()
    assert admin.list_topics(timeout=120).brokers


def test_a_broker_that_cannot_start_says_why(broker_parts: None, tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match=r"(?s)clusters\.dc9.*num\.io\.threads") as raised,
        running_clusters(["dc9"], tmp_path, extra={"num.io.threads": "many"}),
    ):
        pass

    assert raised.value.cluster == "dc9"


def test_a_broker_does_not_outlive_a_python_that_was_killed(broker_parts: None, tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, env=_paths())
    assert program.stdout is not None
    broker = int(program.stdout.readline())
    os.kill(broker, 0)

    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()

    assert _is_gone(broker)


def test_topics_grow_and_go_on_every_cluster(clusters: Clusters, topic_name: str) -> None:
    create_topic(clusters.values(), topic_name, 1, {"retention.ms": "60000"})
    add_partitions(clusters.values(), topic_name, 4)
    assert [partition_count(each, topic_name) for each in clusters.values()] == [4, 4]

    delete_topic(clusters.values(), topic_name)
    assert [partition_count(each, topic_name) for each in clusters.values()] == [0, 0]


def test_records_of_other_days_stay_unless_their_topic_says_otherwise(clusters: Clusters, topic_name: str) -> None:
    kept, retired = topic_name, f"{topic_name}-retired"
    create_topic(clusters["dc1"], kept, 1)
    create_topic(clusters["dc1"], retired, 1, {"retention.ms": "60000"})
    for deleted in (1, 2):  # the second time a whole pass of the broker has gone by
        _produce_of_1970(clusters["dc1"], [kept, retired])
        until(lambda expected=deleted: _log_start(clusters["dc1"], retired) == expected)

    assert _log_start(clusters["dc1"], kept) == 0


def _produce_of_1970(cluster: EmbeddedCluster, topics: list[str]) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers))
    for topic in topics:
        producer.produce(topic, b"old", partition=0, timestamp=1)
    assert producer.flush(30) == 0


def _log_start(cluster: EmbeddedCluster, topic: str) -> int:
    with closing(open_partition_reader(cluster, "log start")) as reader:
        first, _ = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    return int(first)


def _paths() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def _is_gone(number: int) -> bool:
    for _ in range(2400):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        if " Z " in Path(f"/proc/{number}/stat").read_text():
            return True  # dead, and no process here is its parent
        time.sleep(0.05)
    return False
