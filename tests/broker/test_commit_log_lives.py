"""``__consumer_offsets`` of a real broker, deleted, cut and widened: what is read and asked afterwards counts.

dc2 has copies of dc1's records, three offsets higher.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import NewPartitions

from broker.crafted_logs import Clusters, delete_topic
from broker.installation import Installation, install
from broker.segments import keep_records
from broker.story import Story
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(900)]

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


@dataclass(frozen=True)
class Lives:
    """The story and its installation; dc1's log of commits is what has another life."""

    story: Story
    installation: Installation

    @property
    def dc1(self) -> EmbeddedCluster:
        return self.story.clusters["dc1"]

    def after_sync(self, *groups: str) -> list[int | None]:
        """Return what *groups* have at dc2 once a pass was made, which does not fail."""
        assert self.installation.sync() == []
        return [self.story.offset(group) for group in groups]


@pytest.fixture(scope="module")
def lives(soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    story = Story(soiled_clusters, "commit-lives").begin()
    story.write(100)
    often = {"refresh_interval": "1s", "reconcile_interval": "1s"}
    installation = install(tmp_path_factory.mktemp("lives"), soiled_clusters, [story.topic], sync=often)
    assert installation.index() == []
    return Lives(story, installation)


def test_a_deleted_log_and_a_cut_one_are_read_again_and_what_they_have_lost_stays_at_the_target(lives: Lives) -> None:
    for offset in (2, 3, 4):
        lives.story.commit(MOVING, offset)
        lives.story.commit(IDLE, 3)
    assert lives.after_sync(MOVING, IDLE) == [4, 3]
    delete_topic(lives.dc1, CONSUMER_OFFSETS)
    lives.story.commit(MOVING, 7)  # at a lower offset of the log than what it had
    assert lives.after_sync(MOVING, IDLE) == [7, 3]
    assert lives.story.offset(IDLE, "dc1") is None
    lives.story.commit(MOVING, 9)
    assert lives.after_sync(MOVING, IDLE) == [9, 3]
    rows = lives.installation.rows("offset_commits", cluster="dc1", group_id=MOVING)
    last = max(rows, key=lambda row: row["captured_at"])
    assert last["committed_offset"] == 9
    keep_records(lives.dc1, CONSUMER_OFFSETS, last["log_partition"], last["log_offset"])
    assert lives.after_sync(MOVING, IDLE) == [7, 3]
    assert lives.story.offset(MOVING, "dc1") == 7
    rows = lives.installation.rows("log_incarnations", cluster="dc1", topic=CONSUMER_OFFSETS)
    reasons = Counter(row["reason"] for row in rows)
    assert reasons["TOPIC_RECREATED"] == LOG_PARTITIONS
    assert (reasons["LOG_TRUNCATED"], reasons["READ_AGAIN"]) == (1, LOG_PARTITIONS + 1)
    rows = lives.installation.rows("log_incarnations", cluster="dc2", topic=CONSUMER_OFFSETS)
    assert {row["reason"] for row in rows} == {None}


def test_a_group_whose_coordinator_moves_to_a_new_partition_is_followed_and_written_again(lives: Lives) -> None:
    lives.story.commit(WIDENED, 30)
    assert lives.after_sync(WIDENED) == [30]
    widen_log(lives.dc1)
    for offset in (10, 40):
        while lives.story.offset(WIDENED, "dc1") != offset:  # before 4.0 the greater log offset wins, of any partition
            lives.story.commit(WIDENED, offset)
        assert lives.after_sync(WIDENED) == [offset]
    rows = lives.installation.rows("offset_commits", cluster="dc1", group_id=WIDENED, log_partition=LOG_PARTITIONS)
    assert {row["committed_offset"] for row in rows} == {10, 40}, "the new partition is not this group's"
    widen_log(lives.story.clusters["dc2"])  # from 4.0 on its coordinator holds nothing then
    assert lives.after_sync(WIDENED) == [40]
