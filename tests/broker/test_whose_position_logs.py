"""Partitions added to ``__consumer_offsets`` of either side, a cut at the target without jobs, too much metadata.

These clusters are this file's own: their commit logs begin with one partition, and dc2 takes 100 bytes of metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, native_log, write_log
from broker.installation import Installation, Job, install, until
from broker.log_contents import COMMITS
from broker.performer import BEGAN_MS, Performer, fill_topic
from broker.segments import keep_records
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters, start_clusters
from offset_sync_demo.kafka.clients import admin_of, read_partition

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1200)]

MOST_METADATA = 100
GROWING = ("growing-running", "growing-once")


@pytest.fixture(scope="module")
def own_clusters(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, EmbeddedCluster]]:
    folder = tmp_path_factory.mktemp("own")
    started: dict[str, EmbeddedCluster] = {}
    try:
        started |= start_clusters(["dc1"], folder, offsets_partitions=1)
        extra = {"offset.metadata.max.bytes": str(MOST_METADATA)}
        started |= start_clusters(["dc2"], folder, offsets_partitions=1, extra=extra)
        yield started
    finally:
        kill_clusters(started)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs")


def installed(clusters: Clusters, folder: Path, topic: str, **sync: str) -> Installation:
    servers = {alias: each.bootstrap_servers for alias, each in clusters.items()}
    settings = {"trigger_interval": "500ms", "reconcile_interval": "1s", **sync}
    return install(folder / topic, servers, [topic], sync=settings)


def partition_of(group: str, partitions: int) -> int:
    """Return in which partition of the commit log Kafka keeps a group: by Java's hash of its id."""
    value = 0
    for character in group:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions


def offset(clusters: Clusters, alias: str, group: str, topic: str) -> int | None:
    found = committed(clusters[alias], [group])[group].get((topic, 0))
    return None if found is None else found.offset


def commit_at(clusters: Clusters, alias: str, group: str, topic: str, value: int) -> None:
    commit(clusters[alias], {group: {(topic, 0): value}})


@pytest.fixture(scope="module")
def growing(
    own_clusters: dict[str, EmbeddedCluster], spark_environment: None, folder: Path
) -> Iterator[dict[str, tuple[str, Installation, Job | None]]]:
    """For each mode a group of which dc1's log has 300, before its coordinator's partition becomes another one."""
    found: dict[str, tuple[str, Installation, Job | None]] = {}
    with ExitStack() as stack:
        for topic in GROWING:
            group = next(name for name in (f"{topic}-{n}" for n in count()) if partition_of(name, 2) == 1)
            fill_topic(own_clusters, topic, 1, 400)
            installation, job = installed(own_clusters, folder, topic), None
            for _ in range(4):
                commit_at(own_clusters, "dc1", group, topic, 300)
            if topic == "growing-running":
                jobs = [stack.enter_context(installation.started(name)) for name in ("index_records", "sync_offsets")]
                job = jobs[-1]
            found[topic] = (group, installation, job)
        for topic, (group, installation, job) in found.items():
            arrives(own_clusters, group, topic, installation, job, 300)
        add_partition(own_clusters["dc1"])
        yield found


@pytest.fixture(scope="module")
def grown_target(
    own_clusters: dict[str, EmbeddedCluster], growing: dict[str, tuple[str, Installation, Job | None]]
) -> None:
    """Dc2's coordinators move while no group commits: the offsets there are no longer known."""
    add_partition(own_clusters["dc2"])
    for topic, (group, _, job) in growing.items():
        if job is None:
            assert offset(own_clusters, "dc2", group, topic) is None


def add_partition(cluster: EmbeddedCluster) -> None:
    """Give the commit log a second partition, which the broker takes notice of when it starts."""
    admin = admin_of(cluster)  # held until the answer is there
    admin.create_partitions([NewPartitions(COMMITS, 2)])[COMMITS].result(60)
    cluster.restart()


def arrives(
    clusters: Clusters, group: str, topic: str, installation: Installation, job: Job | None, value: int
) -> None:
    """Return once dc2 has what was committed at dc1."""
    if job is None:
        assert (installation.index(), installation.sync()) == ([], [])
        assert offset(clusters, "dc2", group, topic) == value, installation.translations(group_id=group)[-3:]
    else:
        until(lambda: offset(clusters, "dc2", group, topic) == value, 60, job=job)


@pytest.mark.parametrize("topic", GROWING)
def test_a_group_whose_coordinator_moves_to_a_new_partition_is_followed(
    own_clusters: dict[str, EmbeddedCluster], growing: dict[str, tuple[str, Installation, Job | None]], topic: str
) -> None:
    group, installation, job = growing[topic]
    for value in (10, 20, 320):
        commit_at(own_clusters, "dc1", group, topic, value)
        arrives(own_clusters, group, topic, installation, job, value)
    keys = [record.key() or b"" for record in read_partition(own_clusters["dc1"], (COMMITS, 1))]
    assert sum(group.encode() in key for key in keys) >= 3, "the new partition is not this group's"
    commit_at(own_clusters, "dc1", group, topic, 310)
    arrives(own_clusters, group, topic, installation, job, 310)


@pytest.mark.parametrize("topic", GROWING)
def test_a_target_whose_coordinator_moves_gets_again_what_the_new_one_does_not_know(
    own_clusters: dict[str, EmbeddedCluster],
    growing: dict[str, tuple[str, Installation, Job | None]],
    grown_target: None,
    topic: str,
) -> None:
    group, installation, job = growing[topic]
    arrives(own_clusters, group, topic, installation, job, 310)
    keys = [record.key() or b"" for record in read_partition(own_clusters["dc2"], (COMMITS, 1))]
    assert any(group.encode() in key for key in keys), "the new partition is not this group's"


def test_metadata_that_the_target_would_not_take_costs_no_offset(
    own_clusters: dict[str, EmbeddedCluster], spark_environment: None, folder: Path
) -> None:
    topic, group = "metadata", "metadata-group"
    fill_topic(own_clusters, topic, 1, 100)
    installation = installed(own_clusters, folder, topic)
    commit(own_clusters["dc1"], {group: {(topic, 0): (60, "x" * (MOST_METADATA + 1))}})
    assert (installation.index(), installation.sync()) == ([], [])
    found = committed(own_clusters["dc2"], [group])[group][topic, 0]
    assert (found.offset, found.metadata) == (60, "")


def test_a_cut_of_the_target_while_the_jobs_are_down_is_answered_below_it_in_a_disaster(
    own_clusters: dict[str, EmbeddedCluster], spark_environment: None, folder: Path
) -> None:
    topic, group, place = "cut", "cut-group", ("cut", 0)
    stamp = Stamp(since_ms=BEGAN_MS)
    for alias in own_clusters:
        fill_topic({alias: own_clusters[alias]}, topic, 1, 0)
    write_log(own_clusters["dc1"], {place: native_log("dc1", 260)}, stamp)
    # In two batches, so that the log can end between them.
    write_log(own_clusters["dc2"], {place: copied_log("dc1", range(150))}, stamp)
    write_log(own_clusters["dc2"], {place: copied_log("dc1", range(200))}, stamp)
    installation = installed(own_clusters, folder, topic)
    commit_at(own_clusters, "dc1", group, topic, 200)
    assert (installation.index(), installation.sync()) == ([], [])
    assert offset(own_clusters, "dc2", group, topic) == 200
    keep_records(own_clusters["dc2"], topic, 0, 150)
    # The mirror goes on where it was; what was cut off does not come again.
    regrown = [*copied_log("dc1", range(150)), *copied_log("dc1", range(200, 260), first=150)]
    write_log(own_clusters["dc2"], {place: [*regrown, *native_log("dc2", 50, first=210)]}, stamp)
    own_clusters["dc1"].kill()
    try:
        case = Performer(own_clusters, installation, "once", topic)
        case.group = group
        said = case.cutover("apply", "dc1", "dc2", "--disaster")
        assert said.failures == [], str(said)
        assert offset(own_clusters, "dc2", group, topic) == 150
    finally:
        own_clusters["dc1"].start()
