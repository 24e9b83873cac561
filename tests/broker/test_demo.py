"""The harness against itself: its brokers end with their program, and its mirror copies what real logs hold, once.

Every other test here, `make demo` and the benchmarks stand on that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.installation import until
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options, stable_ends
from offset_sync_demo.kafka.log_dump import dump_log
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.mirror import Mirror

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]


def values_of(cluster: EmbeddedCluster, topic: str) -> list[str]:
    return [(each.value or b"").decode() for each in dump_log(cluster, topic, 0)]


def produce(cluster: EmbeddedCluster, topic: str, values: list[str]) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True))
    for value in values:
        producer.produce(topic, value, key="k", partition=0, headers=[("trace", value.encode())])
    assert producer.flush(120) == 0


_PROGRAM = """
import sys, time
from pathlib import Path
from offset_sync_demo.kafka.brokers import start_clusters
cluster = start_clusters(["dc9"], Path(sys.argv[1]))["dc9"]
print(cluster.process.pid, flush=True)
time.sleep(600)
"""


def test_a_broker_does_not_outlive_a_python_that_was_killed(broker_parts: None, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as program:
        assert program.stdout is not None
        broker = int(program.stdout.readline())
        os.kill(broker, 0)
        program.send_signal(signal.SIGKILL)
    until(lambda: _is_gone(broker), 120)


def _is_gone(number: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{number}/stat").read_text()  # dead, and no process here is its parent
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def mirrors(clusters: Clusters, topic_name: str) -> Iterator[list[Mirror]]:
    create_topic(clusters.values(), topic_name, 1)
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    both = [Mirror(dc1, dc2, [topic_name]), Mirror(dc2, dc1, [topic_name])]
    for mirror in both:
        mirror.start()
    yield both
    for mirror in both:
        mirror.kill()


def test_aborted_records_are_not_copied_and_an_open_transaction_is_not_waited_for(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    producer = Producer(client_options(clusters["dc1"].bootstrap_servers, transactional_id=f"tx-{topic_name}"))
    producer.init_transactions(120)
    for value, end in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic_name, value, partition=0)
        producer.flush(120)  # else what is aborted is not even sent
        end(120)
    producer.begin_transaction()
    producer.produce(topic_name, "undecided", partition=0)
    producer.flush(120)
    assert stable_ends(clusters["dc1"], [(topic_name, 0)]) == {(topic_name, 0): 4}
    mirrors[0].drain()
    assert values_of(clusters["dc2"], topic_name) == ["kept"]
    assert mirrors[0].lag() == 0
    assert mirrors[0].position[topic_name, 0] == 4  # two records and two markers
    producer.abort_transaction(120)


def test_a_mirror_killed_at_any_moment_loses_nothing_and_one_that_was_stopped_repeats_nothing(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    mirror, values = mirrors[0], [f"v{number}" for number in range(4000)]
    for start in range(0, len(values), 2000):
        produce(clusters["dc1"], topic_name, values[start : start + 2000])
        mirror.kill()
        mirror.start()
    mirror.drain()
    copies = values_of(clusters["dc2"], topic_name)
    assert list(dict.fromkeys(copies)) == values  # the first copies, in order; repeats are allowed
    mirror.stop()
    produce(clusters["dc1"], topic_name, ["meanwhile"])
    successor = Mirror(mirror.source, mirror.target, [topic_name], position=mirror.position)
    successor.start()
    successor.drain()
    successor.stop()
    assert values_of(clusters["dc2"], topic_name) == [*copies, "meanwhile"]
