"""Clusters that are dead, frozen or late, and coordinators that move: an error by the deadline, and no process ends.

Coordinators move on the mock cluster that librdkafka carries.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import c_char_p, c_int, c_int16, c_int32, c_size_t, c_void_p
from typing import Any

import pytest
from confluent_kafka import cimpl

from broker.crafted_logs import create_topics
from broker.installation import until
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import GroupOffsets, RequestFailure
from offset_sync.kafka.librdkafka import library
from offset_sync.kafka.log_reader import RecordReader
from offset_sync.kafka.requests import TransientError
from offset_sync.kafka.topic_requests import LATEST, TopicRequests
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(300)
OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, GROUP_AUTHORIZATION_FAILED = 15, 16, 30
UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1"}
CLIENTS_OWN_PATIENCE_S = 60.0  # librdkafka's, without a deadline
WRITE = OffsetWrite("group", "orders", 0, 7, None, None)
PLACE = TopicPartition("orders", 0)
PARTITIONS, ASKING_S, DEADLINES_S = 60, 5.0, (0.001, 0.01, 0.05, 0.2)


class MockCluster:
    """Two brokers inside this process whose answers can be spoilt."""

    def __init__(self) -> None:
        self._bound: Any = ctypes.CDLL(cimpl.__file__)
        self._bound.rd_kafka_mock_cluster_new.restype = c_void_p
        self._bound.rd_kafka_mock_cluster_bootstraps.restype = c_char_p
        reason = ctypes.create_string_buffer(512)
        self._handle = c_void_p(library().new(0, library().conf_new(), reason, 512))
        self._cluster = c_void_p(self._bound.rd_kafka_mock_cluster_new(self._handle, 2))
        self._bound.rd_kafka_mock_topic_create(self._cluster, b"orders", 1, 1)
        self.options = {"bootstrap.servers": self._bound.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()}

    def deny(self, request: int, error: int = NOT_COORDINATOR, times: int = 1) -> None:
        push = self._bound.rd_kafka_mock_push_request_errors_array
        push(self._cluster, c_int16(request), c_size_t(times), (c_int * times)(*[error] * times))

    def answer(self, request: int, broker: int, error: int, milliseconds: int) -> None:
        """Let a broker answer a kind of request so, the next hundred times."""
        push = self._bound.rd_kafka_mock_broker_push_request_error_rtts
        pairs = [number for _ in range(100) for number in (c_int(error), c_int(milliseconds))]
        push(self._cluster, c_int32(broker), c_int16(request), c_size_t(100), *pairs)

    def set_coordinator(self, group: str, broker: int) -> None:
        self._bound.rd_kafka_mock_coordinator_set(self._cluster, b"group", group.encode(), c_int32(broker))

    def close(self) -> None:
        self._bound.rd_kafka_mock_cluster_destroy(self._cluster)
        library().destroy_flags(self._handle, 0)


@pytest.fixture
def mock() -> Iterator[MockCluster]:
    cluster = MockCluster()
    yield cluster
    cluster.close()


@pytest.fixture
def admin(mock: MockCluster) -> ClusterAdmin:
    return ClusterAdmin("dc2", mock.options)


def test_what_a_former_coordinator_denies_is_asked_again_and_ends_no_process(
    mock: MockCluster, admin: ClusterAdmin
) -> None:
    admin.write_offsets({"group": [WRITE]})
    mock.deny(OFFSET_FETCH)  # through confluent-kafka's AdminClient: SIGSEGV
    assert admin.committed_offsets(["group"], deadline=60) == {"group": {}}  # the mock lists no partitions by itself
    mock.deny(OFFSET_COMMIT)
    assert admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: "NOT_COORDINATOR"}}
    mock.deny(OFFSET_COMMIT)
    (outcome,) = write_offsets([WRITE], admin, fence=OpenFence(), dry_run=False, deadline=60)
    assert outcome.outcome is Outcome.COMMITTED, "who writes repeats it"
    mock.set_coordinator("group", 2)
    mock.answer(OFFSET_COMMIT, 1, NOT_COORDINATOR, 0)
    until(lambda: admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: None}}, 60)


@pytest.mark.parametrize(
    ("error", "is_lasting"), [(COORDINATOR_NOT_AVAILABLE, False), (GROUP_AUTHORIZATION_FAILED, True)]
)
def test_a_group_without_a_coordinator_is_an_error_of_its_own_and_not_of_the_cluster(
    mock: MockCluster, admin: ClusterAdmin, error: int, is_lasting: bool
) -> None:
    mock.deny(FIND_COORDINATOR, error, times=1000)
    found = admin.committed_offsets(["group"], deadline=10 if is_lasting else 2)["group"]
    assert isinstance(found, ClusterError)
    assert isinstance(found, TransientError) != is_lasting
    assert not is_lasting or "group 'group': GROUP_AUTHORIZATION_FAILED" in str(found)


def test_a_coordinator_that_is_found_after_the_deadline_ends_no_process(mock: MockCluster) -> None:
    client = GroupOffsets(mock.options | {"group.id": "offset-sync-admin"})
    for broker in (1, 2):
        mock.answer(FIND_COORDINATOR, broker, 0, 1000)
    answers = client.read(["group", "other"], time.monotonic() + 0.3)
    assert [isinstance(each, RequestFailure) and each.error for each in answers.values()] == ["_TIMED_OUT"] * 2
    # librdkafka goes on looking for it. With a timeout of its own it would abort (SIGABRT) as soon as it is found.
    time.sleep(2)
    assert client.read(["third"], time.monotonic() + 60) == {"third": []}


CALLS: dict[str, Callable[[ClusterAdmin], object]] = {
    "topics": lambda admin: admin.topics(deadline=0.5),
    "ends": lambda admin: admin.ends([PLACE], deadline=0.5),
    "committed": lambda admin: admin.committed_offsets(["group"], deadline=0.5),
    "groups": lambda admin: admin.groups(0.5),
}


@pytest.mark.timeout(50)  # less than the client takes without a deadline
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_dead_cluster_is_an_error_that_names_it_and_why(call: Callable[[ClusterAdmin], object]) -> None:
    with pytest.raises(ClusterError, match=r"clusters\.dc9: .*(refused|Connection|_TIMED_OUT for ListGroups)"):
        call(ClusterAdmin("dc9", UNREACHABLE))


def test_a_frozen_broker_is_an_error_by_the_deadline_and_the_same_clients_go_on_afterwards(
    clusters: dict[str, EmbeddedCluster], topic_name: str, group_name: str
) -> None:
    cluster, place = clusters["dc2"], TopicPartition(topic_name, 0)
    create_topics(cluster, {topic_name: 1})
    options = {"bootstrap.servers": cluster.bootstrap_servers}
    admin, reader = ClusterAdmin("dc2", options), RecordReader("dc2", options)
    wanted = OffsetWrite(group_name, topic_name, 0, 7, None, None)
    assert admin.write_offsets({group_name: [wanted]}) == {group_name: {place: None}}
    assert not admin.groups()[group_name]
    cluster.pause()
    began = time.monotonic()
    try:
        with pytest.raises(TransientError):
            admin.committed_offsets([group_name], deadline=0.5)
        assert admin.write_offsets({group_name: [wanted]}, deadline=0.5) == {group_name: {place: "_TIMED_OUT"}}
        with pytest.raises(ClusterError):
            admin.groups(0.5)
        assert reader.first_at({place: 0}, deadline=0.5) == {}
        assert time.monotonic() - began < CLIENTS_OWN_PATIENCE_S * 0.8
    finally:
        cluster.resume()
    assert admin.committed_offsets([group_name])[group_name] != {}
    assert not admin.groups()[group_name]


def test_answers_that_come_too_late_do_no_harm(clusters: dict[str, EmbeddedCluster], topic_name: str) -> None:
    """It is librdkafka's memory that such a deadline may spoil, so the asking is done by a process of its own."""
    cluster = clusters["dc2"]
    create_topics(cluster, {topic_name: PARTITIONS})
    command = [sys.executable, __file__, cluster.bootstrap_servers, topic_name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as asking:
        while asking.poll() is None:
            cluster.pause()
            time.sleep(0.4)
            cluster.resume()
            time.sleep(0.3)
        said = asking.stdout.read() if asking.stdout is not None else ""
    assert asking.returncode == 0, f"ended with {asking.returncode}: {said}"
    answered, late = map(int, said.split()[-2:])
    assert answered > 0
    assert late > 0, "no deadline ran out, so nothing was tried"


def ask(servers: str, topic: str) -> None:
    """Ask from four threads where the logs end, then print how often that was answered, and how often not in time."""
    led_by_1 = {TopicPartition(topic, number): 1 for number in range(PARTITIONS)}
    counts, end = {True: 0, False: 0}, time.monotonic() + ASKING_S

    def repeat() -> None:
        requests = TopicRequests("dc1", {"bootstrap.servers": servers})
        for deadline in itertools.cycle(DEADLINES_S):
            if time.monotonic() > end and min(counts.values()) > 0:
                return
            found = requests.offsets(led_by_1, LATEST, time.monotonic() + deadline)
            counts[len(found) == PARTITIONS] += 1

    asking = [threading.Thread(target=repeat) for _ in range(4)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    print(counts[True], counts[False])


if __name__ == "__main__":
    ask(*sys.argv[1:])
