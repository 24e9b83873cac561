"""Logs that begin another life on real brokers: the answers about them are right for the present records.

Every topic has a partition, dc1 is the source and dc2 the target; what a group has read is known by content.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker.cluster_actions import Acts
from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import install, until
from broker.segments import keep_records
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.failpoints import BEFORE_RUNS
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

REGROWN, THIRD, HEALTHY = "lives-regrown", "lives-third", "lives-healthy"
TOPICS = (REGROWN, THIRD, HEALTHY)


def at(topic: str) -> Partition:
    return topic, 0


def recreate(cluster: EmbeddedCluster, topic: str) -> None:
    admin = admin_of(cluster)
    admin.delete_topics([topic])[topic].result(120)
    while topic in admin.list_topics(timeout=120).topics:
        time.sleep(0.05)
    create_topics(cluster, {topic: 1})


@dataclass(frozen=True)
class Lives:
    acts: Acts
    epoch_ends: list[dict[TopicPartition, ReportedEnd]]


@pytest.fixture(scope="module")
def lives(three_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    clusters = three_clusters
    dc1, dc2, dc3 = (clusters[alias] for alias in ("dc1", "dc2", "dc3"))
    for cluster in (dc1, dc2, dc3):
        create_topics(cluster, dict.fromkeys(TOPICS, 1))
    for topic in (REGROWN, HEALTHY):
        write_log(dc1, {at(topic): native_log("dc1", 6)})
        write_log(dc1, {at(topic): native_log("dc1", 10)})  # in a batch of its own
        write_log(dc2, {at(topic): copied_log("dc1", range(10))})
    write_log(dc3, {at(THIRD): native_log("dc3", 40)})
    for cluster in (dc1, dc2):
        write_log(cluster, {at(THIRD): copied_log("dc3", range(40))})
    servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
    groups = [f"{topic}-at-{offset}" for topic in TOPICS for offset in (4, 8, 10, 35)]
    acts = Acts(clusters, install(tmp_path_factory.mktemp("lives"), servers, ["lives-.*"]), groups)
    assert acts.installation.index() == []
    commit(dc1, {f"{topic}-at-{offset}": {at(topic): offset} for topic in (REGROWN, HEALTHY) for offset in (4, 8, 10)})
    acts.play()
    # dc1 loses four records, which dc2 has, and gets six others at the same offsets, which go to dc2 too.
    keep_records(dc1, REGROWN, 0, 6)
    epoch_ends = told_where_the_first_epoch_ended(dc1, TopicPartition(REGROWN, 0))
    write_log(dc1, {at(REGROWN): native_log("dc1", 12)})
    write_log(dc2, {at(REGROWN): copied_log("dc1", [*range(10), *range(6, 12)])})
    # dc3's topic is recreated; dc1 and dc2 get copies of both lives, dc2 the new ones first below what dc1 has read.
    recreate(dc3, THIRD)
    write_log(dc3, {at(THIRD): native_log("dc3", 20)})
    write_log(dc2, {at(THIRD): copied_log("dc3", [*range(40), *range(20)])})
    commit(dc1, {f"{THIRD}-at-{offset}": {at(THIRD): offset} for offset in (10, 35)})
    assert acts.installation.index() == []
    acts.play()
    commit(dc1, {f"{REGROWN}-at-8": {at(REGROWN): 9}})
    acts.play()
    return Lives(acts, epoch_ends)


def told_where_the_first_epoch_ended(
    cluster: EmbeddedCluster, place: TopicPartition
) -> list[dict[TopicPartition, ReportedEnd]]:
    """Return what is told by who knows the present leader's epoch, and by who is not leader any more."""
    now = ClusterAdmin(cluster.alias, options_of(cluster)).ends([place])[place].leader_epoch
    assert now is not None
    assert now > 1, "it was without a leader in between"
    epochs = LeaderEpochs(cluster.alias, options_of(cluster))
    changes = EpochChange(0, now), EpochChange(0, now + 1), EpochChange(now - 1, now)
    return [epochs.ends_in_time({place: change}) for change in changes]


def options_of(cluster: EmbeddedCluster) -> dict[str, str]:
    return {"bootstrap.servers": cluster.bootstrap_servers}


def test_the_broker_says_where_an_epoch_ended_though_the_log_has_grown_since(lives: Lives) -> None:
    place = TopicPartition(REGROWN, 0)
    assert lives.epoch_ends[:2] == [{place: ReportedEnd(6)}, {}], "a broker that lacks an epoch is no leader"
    assert lives.epoch_ends[2] == {place: ReportedEnd(6, is_certain=False)}, (
        "of the epoch without records it tells another"
    )


def test_nothing_changes_for_a_log_that_only_got_another_leader(lives: Lives) -> None:
    for act in (0, 1):
        assert [lives.acts.offset(act, "dc2", f"{HEALTHY}-at-{offset}", at(HEALTHY)) for offset in (4, 8, 10)] == [
            4,
            8,
            10,
        ]
    rows = lives.acts.installation.rows("log_incarnations", topic=HEALTHY)
    assert {row["reason"] for row in rows} == {None, "ELECTED"}


def test_a_cut_is_known_though_the_log_is_longer_than_before(lives: Lives) -> None:
    rows = lives.acts.installation.rows("log_incarnations", cluster="dc1", topic=REGROWN)
    # Where the log ended when nothing was on its way any more is written down beside it, sooner or later; and that its
    # broker was elected again, where the machine kept it from answering in time.
    begun = [(row["begins_at"], row["reason"]) for row in rows if row["begins_at"] is not None]
    assert [each for each in begun if each[1] not in ("ARRIVED", "ELECTED")] == [(6, "LOG_TRUNCATED")]
    again = lives.acts.installation.rows("record_runs", cluster="dc1", topic=REGROWN)
    assert max(row["start_offset"] + row["length"] for row in again) == 12


@pytest.mark.parametrize("offset", [8, 10])
def test_a_commit_to_the_lost_records_is_not_taken_for_one_to_the_new_ones(lives: Lives, offset: int) -> None:
    group = f"{REGROWN}-at-{offset}"
    assert lives.acts.offset(0, "dc2", group, at(REGROWN)) == offset
    assert lives.acts.said(1, group, target_cluster="dc2") == [("LOG_TRUNCATED", "WITHHELD")]
    assert lives.acts.offset(1, "dc2", group, at(REGROWN)) == offset


def test_a_commit_below_the_cut_is_answered_as_before(lives: Lives) -> None:
    assert lives.acts.offset(1, "dc2", f"{REGROWN}-at-4", at(REGROWN)) == 4


@pytest.mark.parametrize("offset", [10, 35])
def test_a_third_clusters_new_records_are_not_taken_for_its_old_ones(lives: Lives, offset: int) -> None:
    """dc1 has the old life only: of the new one, from 40 on at dc2, the group has read nothing."""
    stands = lives.acts.offset(1, "dc2", f"{THIRD}-at-{offset}", at(THIRD))
    assert stands is not None
    assert stands <= 40
    assert stands == offset


def test_a_target_that_was_cut_is_answered_up_to_the_cut_before_the_index_has_looked(
    three_clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    """dc2 has lost its copies 4 and 5 and got the next ones instead: it ends where it did, and 6 would skip 6 and 7.

    What was committed above the cut before is set back.
    """
    dc1, dc2 = three_clusters["dc1"], three_clusters["dc2"]
    place, group = at("taken-orders"), "taken-readers"
    for cluster in (dc1, dc2):
        create_topics(cluster, {place[0]: 1})
    write_log(dc1, {place: native_log("dc1", 12)})
    write_log(dc2, {place: copied_log("dc1", range(4))})
    write_log(dc2, {place: copied_log("dc1", range(6))})
    servers = {alias: cluster.bootstrap_servers for alias, cluster in (("dc1", dc1), ("dc2", dc2))}
    acts = Acts({"dc1": dc1, "dc2": dc2}, install(tmp_path, servers, ["taken-.*"]), [group])
    assert acts.installation.index() == []
    commit(dc1, {group: {place: 6}})
    acts.play()
    keep_records(dc2, place[0], 0, 4)
    write_log(dc2, {place: copied_log("dc1", [*range(4), 6, 7])})
    acts.play()
    while acts.said(-1, group) == [("CLUSTER_UNREACHABLE", "WITHHELD")]:  # the leader has not said yet where it ended
        assert acts.offset(-1, "dc2", group, place) == 6
        acts.play()
    assert acts.said(-1, group) == [("AT_FRONTIER", "COMMITTED")]
    assert acts.offset(-1, "dc2", group, place) == 4
    write_log(dc2, {place: copied_log("dc1", [*range(4), 6, 7, 8])})  # or there is nothing to read
    assert acts.installation.index() == []
    acts.play()
    assert [acts.offset(act, "dc2", group, place) for act in (0, -1)] == [6, 4]


@pytest.mark.parametrize("mode", ["running", "once"])
def test_a_target_that_was_recreated_under_traffic_is_exact_again_without_a_restart(
    three_clusters: Clusters, spark_environment: None, tmp_path: Path, mode: str
) -> None:
    """The index goes on where it had planned to, at 400 of the old log, while the new one grows from 5 on."""
    dc1, dc2 = three_clusters["dc1"], three_clusters["dc2"]
    place, group = at(f"anew-{mode}"), f"anew-{mode}"
    for cluster in (dc1, dc2):
        create_topics(cluster, {place[0]: 1})
    write_log(dc1, {place: native_log("dc1", 400)})
    write_log(dc2, {place: copied_log("dc1", range(100))})
    servers = {alias: cluster.bootstrap_servers for alias, cluster in (("dc1", dc1), ("dc2", dc2))}
    installation = install(tmp_path, servers, [f"anew-{mode}"])
    assert installation.index() == []
    write_log(dc2, {place: copied_log("dc1", range(400))})
    installation.run("index_records", "--once", kill_at=BEFORE_RUNS)
    recreate(dc2, place[0])
    mirror = _Mirror(dc2, place)
    commit(dc1, {group: {place: 200}})
    if mode == "running":
        with installation.running():
            until(lambda: mirror.go_on() and _offset(dc2, group, place) == 200)
    else:
        assert installation.index() == []
        until(mirror.is_done)
        assert [*installation.index(), *installation.sync()] == []
    assert _offset(dc2, group, place) == 200
    reasons = {row["reason"] for row in installation.rows("log_incarnations", cluster="dc2", topic=place[0])}
    assert reasons - {"ARRIVED"} == {None, "TOPIC_RECREATED", "READ_AGAIN"}
    assert "LOG_TRUNCATED" not in {row["state"] for row in installation.translations()}


class _Mirror:
    """Copies dc1's records into *place* at *cluster*, a few at a time, up to 300."""

    def __init__(self, cluster: EmbeddedCluster, place: Partition) -> None:
        self._cluster, self._place, self._end = cluster, place, 0
        self.go_on()

    def go_on(self) -> bool:
        self._end = min(self._end + 5, 300)
        write_log(self._cluster, {self._place: copied_log("dc1", range(self._end))})
        return True

    def is_done(self) -> bool:
        return self.go_on() and self._end == 300


def _offset(cluster: EmbeddedCluster, group: str, place: Partition) -> int | None:
    found = committed(cluster, [group])[group].get(place)
    return None if found is None else found.offset
