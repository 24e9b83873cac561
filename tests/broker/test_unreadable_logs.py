"""A cluster of three brokers whose batches are corrupt and that are away, with topics without replicas.

Of dc2's brokers the first is the controller and holds the commits. Everything that only one broker holds waits for it,
and everything else goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import NewTopic

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, wait_for_ends, write_log
from broker.installation import Installation, install, until
from broker.job import ThreadJob
from broker.replicated_cluster import ReplicatedCluster, replicated_cluster
from broker.segments import corrupt_batch
from offset_sync.ingest import index_parts
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1800)]

BAD, GOOD, QUIET = ("unreadable-bad", 0), ("unreadable-good", 0), ("unreadable-good", 1)
PLACES = (BAD, GOOD, QUIET)
LEADERS = {BAD: 3, GOOD: 1, QUIET: 2}
BATCH = 10
STAMP = Stamp(since_ms=int(time.time() * 1000) - 60_000)


@pytest.fixture(scope="module")
def dc2(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicatedCluster]:
    with replicated_cluster("dc2", tmp_path_factory.mktemp("replicated")) as cluster:
        yield cluster


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

    def arrives(self, group: str, offset: int, place: Partition, sync: ThreadJob, index: ThreadJob) -> None:
        """Return once *group* has *offset* at dc2; both jobs have to run meanwhile."""

        def has_arrived() -> bool:
            assert not index.has_ended, index.output()
            return self.offset(group, place) == offset

        until(has_arrived, 600, sync)

    def reason(self, group: str, place: Partition) -> str:
        """Return what a report says now of *group* from dc1 to dc2."""
        self.installation.report()
        rows = self.installation.rows("sync_status", group_id=group, topic=place[0], partition=place[1])
        newest = max(row["reported_at"] for row in rows)
        (row,) = (each for each in rows if each["reported_at"] == newest and each["target_cluster"] == "dc2")
        return f"{row['status']}: {row['reason']}"


@pytest.fixture(scope="module")
def site(
    clusters: Clusters, dc2: ReplicatedCluster, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Site:
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
    folder, quickly = tmp_path_factory.mktemp("unreadable"), {"trigger_interval": "500ms"}
    impatient = {"bootstrap.servers": servers["dc2"], "default.api.timeout.ms": "3000", "request.timeout.ms": "2000"}
    installation = install(
        folder,
        servers,
        ["unreadable-.*"],
        sync={**quickly, "reconcile_interval": "1s"},
        index=quickly,
        clusters={"dc2": {"kafka": impatient}},
    )
    site = Site(dc1, dc2, installation)
    for count in (BATCH, 2 * BATCH, 3 * BATCH):
        for place in PLACES:
            site.write(place, count)
    corrupt_batch(dc2.nodes[LEADERS[BAD]], *BAD, BATCH)
    return site


def test_once_names_the_corrupt_batch_and_the_other_partitions_are_exact(site: Site) -> None:
    site.commit("unreadable-once", 25, *PLACES)
    (line,) = site.installation.index()
    assert line.startswith("clusters.dc2: unreadable-bad-0 cannot be read from offset 10 on")
    assert site.installation.sync() == []
    assert [site.offset("unreadable-once", place) for place in PLACES] == [BATCH, 25, 25]
    assert "unreadable-bad-0 at dc2 cannot be read from offset 10 on" in site.reason("unreadable-once", BAD)
    assert site.reason("unreadable-once", GOOD) == "InSync: None"


def test_while_the_jobs_run_each_partition_waits_for_its_own_leader_and_all_are_exact_in_the_end(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_parts, "EVERY_S", 3.0)  # so often it is looked what can be read again
    with site.installation.here("index_records") as index, site.installation.here("sync_offsets") as sync:
        for place in PLACES:
            site.write(place, 4 * BATCH)
        site.commit("unreadable-running", 35, *PLACES)
        for place in (GOOD, QUIET):
            site.arrives("unreadable-running", 35, place, sync, index)
        assert site.offset("unreadable-running", BAD) in (None, BATCH)
        site.dc2.nodes[LEADERS[QUIET]].pause()
        site.write(GOOD, 5 * BATCH)
        site.commit("unreadable-away", 45, GOOD)
        site.arrives("unreadable-away", 45, GOOD, sync, index)
        until(lambda: "clusters.dc2: unreadable-good-1 cannot be read from offset 40 on" in caplog.text, job=sync)
        wanted = "Stalled: unreadable-good-1 at dc2 cannot be read from offset 40 on"
        assert site.reason("unreadable-running", QUIET).startswith(wanted)  # its answer is there, and stays
        site.dc2.nodes[LEADERS[QUIET]].resume()
        wait_for_ends(site.dc2.first, {QUIET: 4 * BATCH})  # it may have to become leader again
        admin = admin_of(site.dc2.first)
        (deleted,) = admin.delete_records([ClientPartition(*BAD, 2 * BATCH)]).values()
        deleted.result(120)
        site.write(QUIET, 5 * BATCH)
        site.commit("unreadable-healed", 37, *PLACES)
        for place in PLACES:
            site.arrives("unreadable-healed", 37, place, sync, index)
        assert "cannot be read" not in site.reason("unreadable-healed", BAD)
        assert site.reason("unreadable-healed", QUIET) == "InSync: None"
