"""A transaction with offsets of one group that is left open: that group waits; no other."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from offset_sync.config import load_config
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.internal_logs import HeldCommitsReader
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(600)]
PARTITIONS = 8
"""Of ``__consumer_offsets`` on the brokers of the tests."""


@contextmanager
def open_transaction(cluster: EmbeddedCluster, group: str, position: ClientPartition) -> Iterator[Producer]:
    """A transaction that has sent an offset of *group* and is not ended."""
    producer = Producer(client_options(cluster.bootstrap_servers, transactional_id=f"{group}-producer"))
    producer.init_transactions(120)
    producer.begin_transaction()
    lender = Consumer(client_options(cluster.bootstrap_servers, group_id=group))
    producer.send_offsets_to_transaction([position], lender.consumer_group_metadata(), 120)
    yield producer
    producer.abort_transaction(120)


def neighbour_of(group: str, prefix: str) -> str:
    """A group id whose commits are in the same partition as those of *group*."""
    wanted = coordinator_partition(group, PARTITIONS)
    names = (f"{prefix}-{number}" for number in range(10_000))
    return next(name for name in names if coordinator_partition(name, PARTITIONS) == wanted)


def stranger_to(group: str, prefix: str) -> str:
    """A group id whose commits are in another one."""
    unwanted = coordinator_partition(group, PARTITIONS)
    names = (f"{prefix}-{number}" for number in range(10_000))
    return next(name for name in names if coordinator_partition(name, PARTITIONS) != unwanted)


def test_what_is_held_back_is_told_with_its_keys_and_since_when(
    clusters: Clusters, topic_name: str, group_name: str
) -> None:
    cluster, place = clusters["dc2"], TopicPartition(topic_name, 1)
    create_topics(cluster, {topic_name: 2})
    options = {"bootstrap.servers": cluster.bootstrap_servers}
    reader = HeldCommitsReader(ClusterAdmin("dc2", options), options)
    neighbour, silent = (neighbour_of(group_name, f"{group_name}-{each}") for each in "ns")
    stranger = stranger_to(group_name, f"{group_name}-o")
    commit(cluster, {each: {place: 1} for each in (group_name, neighbour, silent, stranger)})
    number = coordinator_partition(group_name, PARTITIONS)
    with open_transaction(cluster, group_name, ClientPartition(*place, 35)):
        commit(cluster, {each: {place: 2} for each in (neighbour, stranger)})
        found = reader.read(range(PARTITIONS), deadline=60)
        assert reader.read([each for each in range(PARTITIONS) if each != number], deadline=60) == {}
    assert found.keys() == {number}
    held = found[number]
    assert held.keys == {GroupPartition(group_name, *place), GroupPartition(neighbour, *place)}
    assert re.search(rf"of {CONSUMER_OFFSETS}-{number} at dc2 since 20\d\d-", held.reason("dc2"))
    until(lambda: reader.read([number], deadline=60) == {}, seconds=60)


@pytest.fixture
def installation(clusters: Clusters, spark_environment: None, topic_name: str, tmp_path: Path) -> Installation:
    """Twenty records at dc1 and their copies at dc2."""
    for alias, entries in (("dc1", native_log("dc1", 20)), ("dc2", copied_log("dc1", range(20)))):
        create_topics(clusters[alias], {topic_name: 1})
        write_log(clusters[alias], {(topic_name, 0): entries})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    return install(tmp_path, servers, [re.escape(topic_name)])


def test_in_the_report_and_the_plan_that_group_waits_and_the_others_go_on(
    clusters: Clusters, installation: Installation, topic_name: str, group_name: str
) -> None:
    neighbour, stranger = neighbour_of(group_name, f"{group_name}-n"), stranger_to(group_name, f"{group_name}-o")
    groups = (group_name, neighbour, stranger)
    commit(clusters["dc1"], {each: {(topic_name, 0): 20} for each in groups})
    assert installation.index() == []
    for _ in range(2):  # the second reads what the first has written
        assert installation.sync() == []
    with open_transaction(clusters["dc2"], group_name, ClientPartition(topic_name, 0, 15)):
        installation.report()
        rows = {row["group_id"]: (row["status"], row["reason"]) for row in installation.rows("sync_status")}
        failures = plan(installation)
    number = coordinator_partition(group_name, PARTITIONS)
    status, reason = rows.pop(group_name)
    assert status != "InSync"
    assert re.search(rf"an open transaction .* of __consumer_offsets-{number} at dc2 since", reason)
    assert rows == dict.fromkeys((neighbour, stranger), ("InSync", None))
    assert failures == [f"{group_name} may not be moved"]


def plan(installation: Installation) -> list[str]:
    """Run ``cutover plan`` from dc1 to dc2; return its failures."""
    words = ["plan", "--conf", "x", "--from", "dc1", "--to", "dc2", "--groups", "g-.*"]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args(words)
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))
