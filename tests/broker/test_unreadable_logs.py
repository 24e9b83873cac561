"""Logs of a real cluster that cannot be read on: one has a corrupt batch, of another the leader is away.

dc2 has three brokers and no replicas. Everything that only they hold waits, and everything else goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Stamp, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.job import Job
from broker.replicated_cluster import ReplicatedCluster, replicated_cluster
from broker.segments import corrupt_batch
from consumer.moving import cutover
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1800)]

BAD, GOOD, QUIET = ("unreadable-bad", 0), ("unreadable-good", 0), ("unreadable-good", 1)
PLACES = (BAD, GOOD, QUIET)
LEADERS = {BAD: 3, GOOD: 1, QUIET: 2}
BATCH = 10
STAMP = Stamp(since_ms=int(time.time() * 1000) - 60_000)


@dataclass(frozen=True)
class Site:
    """Both clusters and the jobs."""

    dc1: EmbeddedCluster
    dc2: ReplicatedCluster
    installation: Installation

    def write(self, place: Partition, count: int) -> None:
        """Let both logs of *place* have *count* records."""
        write_log(self.dc1, {place: native_log("dc1", count)}, STAMP)
        write_log(self.dc2.first, {place: copied_log("dc1", range(count))}, STAMP)

    def commit(self, group: str, offset: int, *places: Partition) -> None:
        """Commit at dc1."""
        commit(self.dc1, {group: dict.fromkeys(places, offset)})

    def offset(self, group: str, place: Partition) -> int | None:
        """Return what *group* has at dc2."""
        value = committed(self.dc2.first, [group])[group].get(place)
        return None if value is None else value.offset

    def reason(self, group: str, place: Partition) -> str:
        """Return what a report says now of *group* from dc1 to dc2."""
        self.installation.report()
        rows = self.installation.rows("sync_status", group_id=group, topic=place[0], partition=place[1])
        newest = max(row["reported_at"] for row in rows)
        (row,) = (each for each in rows if each["reported_at"] == newest and each["target_cluster"] == "dc2")
        return f"{row['status']}: {row['reason']}"


@pytest.fixture(scope="module")
def site(broker_parts: None, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("unreadable")
    with running_clusters(["dc1"], folder) as clusters, replicated_cluster("dc2", folder / "dc2") as dc2:
        dc1 = clusters["dc1"]
        create_topics(dc1, {BAD[0]: 1, GOOD[0]: 2})
        topics = [
            NewTopic(BAD[0], num_partitions=1, replica_assignment=[[LEADERS[BAD]]]),
            NewTopic(GOOD[0], num_partitions=2, replica_assignment=[[LEADERS[GOOD]], [LEADERS[QUIET]]]),
        ]
        admin = admin_of(dc2.first)
        for future in admin.create_topics(topics).values():
            future.result(120)
        servers = {"dc1": dc1.bootstrap_servers, "dc2": dc2.first.bootstrap_servers}
        site = Site(dc1, dc2, install(folder / "installation", servers, ["unreadable-.*"]))
        for count in (BATCH, 2 * BATCH, 3 * BATCH):
            for place in PLACES:
                site.write(place, count)
        corrupt_batch(dc2.nodes[LEADERS[BAD]], *BAD, BATCH)
        yield site


def test_once_names_the_corrupt_batch_and_the_other_partitions_are_exact(site: Site) -> None:
    site.commit("unreadable-once", 25, *PLACES)
    site.commit("unreadable-plan", 20, GOOD, QUIET)
    (line,) = site.installation.index()
    assert line.startswith("clusters.dc2: unreadable-bad-0 cannot be read from offset 10 on")
    assert site.installation.sync() == []
    assert [site.offset("unreadable-once", place) for place in (GOOD, QUIET)] == [25, 25]
    assert site.offset("unreadable-once", BAD) == BATCH
    assert "unreadable-bad-0 at dc2 cannot be read from offset 10 on" in site.reason("unreadable-once", BAD)
    assert site.reason("unreadable-once", GOOD) == "InSync: None"
    assert cutover(site.installation, "plan", "dc1", "dc2", "--planned", "--groups", "unreadable-plan") == []


@pytest.fixture(scope="module")
def index(site: Site) -> Iterator[Job]:
    with site.installation.started("index_records") as job:
        yield job


@pytest.fixture(scope="module")
def sync(site: Site, index: Job) -> Iterator[Job]:
    with site.installation.started("sync_offsets") as job:
        yield job


def test_while_the_jobs_run_other_partitions_go_on(site: Site, sync: Job) -> None:
    for place in PLACES:
        site.write(place, 4 * BATCH)
    site.commit("unreadable-running", 35, *PLACES)
    for place in (GOOD, QUIET):
        until(lambda place=place: site.offset("unreadable-running", place) == 35, job=sync)  # type: ignore[misc]
    assert site.offset("unreadable-running", BAD) in (None, BATCH)


def test_a_leader_that_is_away_holds_up_its_own_partitions_only(site: Site, index: Job, sync: Job) -> None:
    site.dc2.nodes[LEADERS[QUIET]].pause()
    site.write(GOOD, 5 * BATCH)
    site.commit("unreadable-away", 45, GOOD)
    until(lambda: site.offset("unreadable-away", GOOD) == 45, job=sync)
    until(lambda: "clusters.dc2: unreadable-good-1 cannot be read from offset 40 on" in index.output(), job=index)
    assert site.reason("unreadable-running", QUIET) == "Withheld: CLUSTER_UNREACHABLE"
    # Micro-batches that begin after the query has left that partition out.
    site.write(GOOD, 6 * BATCH)
    site.commit("unreadable-left-out", 55, GOOD)
    until(lambda: site.offset("unreadable-left-out", GOOD) == 55, job=sync)


def test_when_the_leader_is_back_and_the_corrupt_records_are_deleted_all_is_exact(site: Site, sync: Job) -> None:
    site.dc2.nodes[LEADERS[QUIET]].resume()
    admin = admin_of(site.dc2.first)
    (deleted,) = admin.delete_records([TopicPartition(*BAD, 2 * BATCH)]).values()
    deleted.result(120)
    site.write(QUIET, 5 * BATCH)
    site.commit("unreadable-healed", 37, *PLACES)
    for place in PLACES:
        until(lambda place=place: site.offset("unreadable-healed", place) == 37, job=sync)  # type: ignore[misc]
    assert "cannot be read" not in site.reason("unreadable-healed", BAD)
    assert site.reason("unreadable-healed", QUIET) == "InSync: None"
