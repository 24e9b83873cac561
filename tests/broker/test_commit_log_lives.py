"""``__consumer_offsets`` of a real broker, deleted, and cut as by an election: what is read afterwards counts."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import pytest

from broker.cluster_actions import Acts
from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import install
from broker.segments import keep_records
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(900)]

TOPIC = "commit-lives"
PLACE: Partition = (TOPIC, 0)
MOVING, IDLE = "commit-lives-moving", "commit-lives-idle"


def delete_commits(cluster: EmbeddedCluster) -> None:
    admin = admin_of(cluster)
    admin.delete_topics([CONSUMER_OFFSETS])[CONSUMER_OFFSETS].result(120)
    while CONSUMER_OFFSETS in admin.list_topics(timeout=120).topics:
        time.sleep(0.05)


@dataclass(frozen=True)
class Lives:
    """The acts: before, after the log was deleted, with a further commit, and after that one was cut off."""

    acts: Acts

    def reasons(self) -> Counter[str]:
        """Return what was noticed of dc1's log of commits."""
        rows = self.acts.installation.rows("log_incarnations", cluster="dc1", topic=CONSUMER_OFFSETS)
        return Counter(row["reason"] for row in rows if row["reason"] is not None)


@pytest.fixture(scope="module")
def lives(soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    clusters = soiled_clusters
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    for cluster in (dc1, dc2):
        create_topics(cluster, {TOPIC: 1})
    write_log(dc1, {PLACE: native_log("dc1", 12)})
    write_log(dc2, {PLACE: copied_log("dc1", range(12))})
    servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
    acts = Acts(clusters, install(tmp_path_factory.mktemp("lives"), servers, [TOPIC]), [MOVING, IDLE])
    assert acts.installation.index() == []
    for offset in (2, 3, 4):
        commit(dc1, {MOVING: {PLACE: offset}, IDLE: {PLACE: 3}})
    acts.play()
    delete_commits(dc1)
    commit(dc1, {MOVING: {PLACE: 7}})  # at a lower offset of the log than what it had
    acts.play()
    commit(dc1, {MOVING: {PLACE: 9}})
    acts.play()
    last = max(
        acts.installation.rows("offset_commits", cluster="dc1", group_id=MOVING), key=lambda row: row["captured_at"]
    )
    assert last["committed_offset"] == 9
    keep_records(dc1, CONSUMER_OFFSETS, last["log_partition"], last["log_offset"])
    acts.play()
    return Lives(acts)


def offsets(lives: Lives, group: str) -> list[int | None]:
    return [lives.acts.offset(act, "dc2", group, PLACE) for act in range(4)]


def test_the_first_commit_after_the_deletion_is_translated(lives: Lives) -> None:
    assert offsets(lives, MOVING)[:3] == [4, 7, 9]


def test_after_a_cut_what_the_coordinator_still_holds_is_translated(lives: Lives) -> None:
    assert lives.acts.offset(3, "dc1", MOVING, PLACE) == 7
    assert offsets(lives, MOVING)[3] == 7


def test_what_a_group_has_said_and_the_log_has_lost_stays_at_the_target(lives: Lives) -> None:
    assert lives.acts.offset(1, "dc1", IDLE, PLACE) is None
    assert offsets(lives, IDLE) == [3, 3, 3, 3]


def test_each_life_is_written_down_once_and_read_again(lives: Lives) -> None:
    reasons = lives.reasons()
    assert reasons["TOPIC_RECREATED"] == 8, "each partition"
    assert reasons["LOG_TRUNCATED"] == 1
    assert reasons["READ_AGAIN"] == 9
    assert lives.acts.failures == [[]] * 4


def test_a_cluster_whose_log_went_on_has_no_other_life(lives: Lives) -> None:
    rows = lives.acts.installation.rows("log_incarnations", cluster="dc2", topic=CONSUMER_OFFSETS)
    assert {row["reason"] for row in rows} == {None}
