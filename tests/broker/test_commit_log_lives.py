"""``__consumer_offsets`` of a real broker, deleted, cut and widened: what is read and asked afterwards counts.

dc2 has copies of dc1's records, three offsets higher.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest
from confluent_kafka.admin import NewPartitions

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, delete_topic, native_log, write_log
from broker.installation import Installation, install
from broker.segments import keep_records
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(900)]

TOPIC = "commit-lives"
PLACE: Partition = (TOPIC, 0)
SHIFT, COUNT = 3, 100
LOG_PARTITIONS = 8
MOVING, IDLE = "commit-lives-moving", "commit-lives-idle"
WIDENED = next(f"widened-{n}" for n in range(10_000) if coordinator_partition(f"widened-{n}", 9) == LOG_PARTITIONS)
"""A group whose coordinator's partition is a new one when there are nine."""


def widen_log(cluster: EmbeddedCluster) -> None:
    """Give the log a partition more, which the broker takes notice of when it starts."""
    admin = admin_of(cluster)  # held until the answer is there
    new = NewPartitions(CONSUMER_OFFSETS, LOG_PARTITIONS + 1)
    admin.create_partitions([new])[CONSUMER_OFFSETS].result(60)
    cluster.restart()


class Lives:
    """The clusters and the installation; dc1's log of commits is what has another life."""

    def __init__(self, clusters: Clusters, installation: Installation) -> None:
        self.dc1, self.dc2, self.installation = clusters["dc1"], clusters["dc2"], installation

    def commit(self, *groups: str, offset: int) -> None:
        """Commit at dc1."""
        commit(self.dc1, {group: {PLACE: offset} for group in groups})

    def offset(self, group: str, alias: str = "dc2") -> int | None:
        """Return what *group* has, as an offset of dc1."""
        value = committed(self.dc1 if alias == "dc1" else self.dc2, [group])[group].get(PLACE)
        return None if value is None else value.offset - (0 if alias == "dc1" else SHIFT)

    def after_sync(self, *groups: str) -> list[int | None]:
        """Return what *groups* have at dc2 once a pass was made, which does not fail."""
        assert self.installation.sync() == []
        return [self.offset(group) for group in groups]


@pytest.fixture(scope="module")
def lives(soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    clusters = soiled_clusters
    stamp = Stamp(since_ms=int(time.time() * 1000) - 60_000)
    for cluster in clusters.values():
        create_topics(cluster, {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)}, stamp)
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), SHIFT)]}, stamp)
    often = {"refresh_interval": "1s", "reconcile_interval": "1s"}
    installation = install(tmp_path_factory.mktemp("lives"), clusters, [TOPIC], sync=often)
    assert installation.index() == []
    return Lives(clusters, installation)


def test_a_deleted_log_and_a_cut_one_are_read_again_and_what_they_have_lost_stays_at_the_target(lives: Lives) -> None:
    for offset in (2, 3, 4):
        lives.commit(MOVING, offset=offset)
        lives.commit(IDLE, offset=3)
    assert lives.after_sync(MOVING, IDLE) == [4, 3]
    delete_topic(lives.dc1, CONSUMER_OFFSETS)
    lives.commit(MOVING, offset=7)  # at a lower offset of the log than what it had
    assert lives.after_sync(MOVING, IDLE) == [7, 3]
    assert lives.offset(IDLE, "dc1") is None
    lives.commit(MOVING, offset=9)
    assert lives.after_sync(MOVING, IDLE) == [9, 3]
    rows = lives.installation.rows("offset_commits", cluster="dc1", group_id=MOVING)
    last = max(rows, key=lambda row: row["captured_at"])
    assert last["committed_offset"] == 9
    keep_records(lives.dc1, CONSUMER_OFFSETS, last["log_partition"], last["log_offset"])
    assert lives.after_sync(MOVING, IDLE) == [7, 3]
    assert lives.offset(MOVING, "dc1") == 7
    rows = lives.installation.rows("log_incarnations", cluster="dc1", topic=CONSUMER_OFFSETS)
    reasons = Counter(row["reason"] for row in rows)
    assert reasons["TOPIC_RECREATED"] == LOG_PARTITIONS
    assert (reasons["LOG_TRUNCATED"], reasons["READ_AGAIN"]) == (1, LOG_PARTITIONS + 1)
    rows = lives.installation.rows("log_incarnations", cluster="dc2", topic=CONSUMER_OFFSETS)
    assert {row["reason"] for row in rows} == {None}


def test_a_group_whose_coordinator_moves_to_a_new_partition_is_followed_and_written_again(lives: Lives) -> None:
    lives.commit(WIDENED, offset=30)
    assert lives.after_sync(WIDENED) == [30]
    widen_log(lives.dc1)
    for offset in (10, 40):
        lives.commit(WIDENED, offset=offset)
        assert lives.after_sync(WIDENED) == [offset]
    rows = lives.installation.rows("offset_commits", cluster="dc1", group_id=WIDENED, log_partition=LOG_PARTITIONS)
    assert {row["committed_offset"] for row in rows} == {10, 40}, "the new partition is not this group's"
    widen_log(lives.dc2)
    assert lives.offset(WIDENED) is None
    assert lives.after_sync(WIDENED) == [40]
