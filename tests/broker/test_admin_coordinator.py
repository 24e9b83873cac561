"""Coordinators that move, on the mock cluster that librdkafka carries: no broker is started for these tests."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from ctypes import c_char_p, c_int, c_int16, c_int32, c_size_t, c_void_p
from typing import Any

import pytest
from confluent_kafka import cimpl

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import GroupOffsets, Limits, RequestFailure
from offset_sync.kafka.librdkafka import library
from offset_sync.kafka.requests import TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, GROUP_AUTHORIZATION_FAILED = 15, 16, 30
WRITE = OffsetWrite("group", "orders", 0, 7, None, Rule.SET, None)
PLACE = TopicPartition("orders", 0)


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
        self.bootstrap_servers = self._bound.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def deny(self, request: int, error: int = NOT_COORDINATOR, times: int = 1) -> None:
        push = self._bound.rd_kafka_mock_push_request_errors_array
        push(self._cluster, c_int16(request), c_size_t(times), (c_int * times)(*[error] * times))

    def deny_always(self, request: int, broker: int) -> None:
        pairs = [number for _ in range(100) for number in (c_int(NOT_COORDINATOR), c_int(0))]
        push = self._bound.rd_kafka_mock_broker_push_request_error_rtts
        push(self._cluster, c_int32(broker), c_int16(request), c_size_t(100), *pairs)

    def delay(self, request: int, milliseconds: int) -> None:
        push = self._bound.rd_kafka_mock_broker_push_request_error_rtts
        for broker in (1, 2):
            answers = [number for _ in range(100) for number in (c_int(0), c_int(milliseconds))]
            push(self._cluster, c_int32(broker), c_int16(request), c_size_t(100), *answers)

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
    return ClusterAdmin("dc2", {"bootstrap.servers": mock.bootstrap_servers})


def test_a_listing_denied_by_a_former_coordinator_is_asked_again_and_ends_no_process(
    mock: MockCluster, admin: ClusterAdmin
) -> None:
    admin.write_offsets({"group": [WRITE]})
    mock.deny(OFFSET_FETCH)  # through confluent-kafka's AdminClient: SIGSEGV
    assert admin.committed_offsets(["group"], deadline=10) == {"group": {}}  # the mock lists no partitions by itself


def test_a_group_whose_coordinator_does_not_come_is_an_error_of_its_own_and_not_of_the_cluster(
    mock: MockCluster, admin: ClusterAdmin
) -> None:
    mock.deny(FIND_COORDINATOR, COORDINATOR_NOT_AVAILABLE, times=1000)
    found = admin.committed_offsets(["group"], deadline=3)
    assert isinstance(found["group"], TransientError)


def test_a_group_that_may_not_be_looked_up_is_a_lasting_error_by_its_name(
    mock: MockCluster, admin: ClusterAdmin
) -> None:
    mock.deny(FIND_COORDINATOR, GROUP_AUTHORIZATION_FAILED, times=1000)
    error = admin.committed_offsets(["group"], deadline=10)["group"]
    assert isinstance(error, ClusterError)
    assert not isinstance(error, TransientError)
    assert "group 'group': GROUP_AUTHORIZATION_FAILED" in str(error)


def test_a_denied_write_is_reported_by_name_and_the_sink_repeats_it(mock: MockCluster, admin: ClusterAdmin) -> None:
    mock.deny(OFFSET_COMMIT)
    assert admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: "NOT_COORDINATOR"}}
    mock.deny(OFFSET_COMMIT)
    (outcome,) = write_offsets([WRITE], admin, fence=OpenFence(), dry_run=False, deadline=10)
    assert outcome.outcome is Outcome.COMMITTED


def test_after_a_denial_the_new_coordinator_is_looked_up_instead_of_the_one_remembered(
    mock: MockCluster, admin: ClusterAdmin
) -> None:
    mock.set_coordinator("group", 1)
    assert admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: None}}
    mock.set_coordinator("group", 2)
    mock.deny_always(OFFSET_COMMIT, 1)
    assert admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: "NOT_COORDINATOR"}}
    assert admin.write_offsets({"group": [WRITE]}) == {"group": {PLACE: None}}


def test_a_coordinator_that_is_found_after_the_deadline_ends_no_process(mock: MockCluster) -> None:
    client = GroupOffsets({"bootstrap.servers": mock.bootstrap_servers, "group.id": "offset-sync-admin"})
    mock.delay(FIND_COORDINATOR, 1500)
    began = time.monotonic()
    answers = client.read(["group", "other"], Limits(began + 0.5, 6.0, in_flight=500))
    assert time.monotonic() - began < 1.5
    assert [isinstance(each, RequestFailure) and each.error for each in answers.values()] == ["_TIMED_OUT"] * 2
    # librdkafka goes on looking for it. With a timeout of its own it would abort (SIGABRT) as soon as it is found.
    time.sleep(3)
    assert client.read(["third"], Limits(time.monotonic() + 10, 6.0, in_flight=500)) == {"third": []}
