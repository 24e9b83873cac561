"""The harness against itself: what its brokers, producers, mirrors and groups say is what real logs hold.

Every other test here, `make demo` and the benchmarks stand on that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import committed
from broker.installation import until
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import Partition, client_options, stable_ends
from offset_sync_demo.kafka.log_dump import LogRecord, dump_ids, dump_log
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.group_member import ReaderOptions
from offset_sync_demo.load.group_reader import GroupReader
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]
RATE = 2000.0


def values_of(cluster: EmbeddedCluster, topic: str, keep: Callable[[LogRecord], bool] = lambda _: True) -> list[str]:
    return [(each.value or b"").decode() for each in dump_log(cluster, topic, 0) if keep(each)]


def is_copy(record: LogRecord) -> bool:
    return record.header("IDC") is not None


def produce(cluster: EmbeddedCluster, topic: str, values: list[str], timestamp: int = 0) -> None:
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True))
    for value in values:
        producer.produce(topic, value, key="k", partition=0, timestamp=timestamp, headers=[("trace", value.encode())])
    assert producer.flush(120) == 0


# Brokers


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


# Producers and groups


@pytest.fixture
def producers(clusters: Clusters, topic_name: str) -> Iterator[Producers]:
    create_topic(clusters.values(), topic_name, 2)
    running = Producers(clusters, [TopicLoad(topic_name, 2, RATE)], {topic_name: {"dc1": 1.0}})
    running.start()
    yield running
    running.stop(5)


def stored(cluster: EmbeddedCluster, group: str) -> dict[Partition, int]:
    return {place: found.offset for place, found in committed(cluster, [group])[group].items()}


def test_acknowledged_records_are_at_the_offsets_that_producers_have_wherever_these_move(
    clusters: Clusters, producers: Producers, topic_name: str
) -> None:
    until(lambda: producers.count() >= 500)
    end = stable_ends(clusters["dc1"], [(topic_name, 0)])[topic_name, 0]
    assert dump_ids(clusters["dc1"], (topic_name, 0)).offsets.tolist()[:end] == list(range(end)), "while it grows"
    producers.set_share({"dc2": 1.0})
    producers.wait_until_quiet("dc1")
    ends, before = stable_ends(clusters["dc1"], [(topic_name, 0), (topic_name, 1)]), producers.count()
    until(lambda: producers.count() >= before + 200)
    producers.stop()
    assert stable_ends(clusters["dc1"], ends) == ends
    assert sum(len(each) for each in producers.acknowledged("dc2").values()) >= 200
    for alias in ("dc1", "dc2"):
        for place, acknowledged in producers.acknowledged(alias).items():
            log = dump_ids(clusters[alias], place)
            assert log.ids.tolist() == acknowledged.ids.tolist()
            assert log.offsets.tolist() == acknowledged.offsets.tolist()
            assert log.timestamps.tolist() == acknowledged.timestamps.tolist()


@pytest.mark.parametrize(("protocol", "commits", "members"), [("classic", "manual", 1), ("consumer", "auto", 2)])
def test_a_reader_knows_what_it_read_and_what_the_coordinator_holds(
    clusters: Clusters,
    producers: Producers,
    topic_name: str,
    group_name: str,
    protocol: str,
    commits: str,
    members: int,
) -> None:
    options = ReaderOptions(protocol=protocol, commits=commits, commit_interval=0.3)
    reader = GroupReader(clusters["dc1"], group_name, [topic_name], options, members=members)
    reader.start()
    until(lambda: len(reader.commits()) > 4)
    producers.stop()
    ends = stable_ends(clusters["dc1"], [(topic_name, 0), (topic_name, 1)])
    reader.wait_until(ends)
    reader.stop()
    assert {place: records.ids.tolist() for place, records in reader.records().items()} == {
        place: records.ids.tolist() for place, records in producers.acknowledged("dc1").items()
    }
    assert {place: commit.offset for place, commit in reader.last_commits().items()} == ends
    assert stored(clusters["dc1"], group_name) == ends
    assert reader.errors() == []


# Mirrors


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


def test_both_sides_hold_everything_in_the_order_of_each_origin_and_copies_name_theirs(
    clusters: Clusters, mirrors: list[Mirror], topic_name: str
) -> None:
    for turn in range(5):
        produce(clusters["dc1"], topic_name, [f"a{turn}-{number}" for number in range(100)], 1_600_000_000_123)
        produce(clusters["dc2"], topic_name, [f"b{turn}-{number}" for number in range(100)])
    for mirror in (*mirrors, *mirrors):  # the second time there is nothing to copy back
        mirror.drain()
    left, right = (dump_log(clusters[alias], topic_name, 0) for alias in ("dc1", "dc2"))
    assert len(left) == len(right) == 1000
    for originals, copies, alias in ((left, right, b"dc1"), (right, left, b"dc2")):
        natives = [each for each in originals if not is_copy(each)]
        mirrored = [each for each in copies if is_copy(each)]
        assert [(each.key, each.value, each.timestamp, each.headers) for each in natives] == [
            (each.key, each.value, each.timestamp, each.headers[:-2]) for each in mirrored
        ]
        assert [(alias, b"%d" % each.offset) for each in natives] == [
            (each.header("IDC"), each.header("Offset")) for each in mirrored
        ]


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
