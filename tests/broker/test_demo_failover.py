"""The harness against itself: offsets found by brute force from what was read, and what the oracle says to them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest
from confluent_kafka import TopicPartition

from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import Partition, open_partition_reader, stable_ends
from offset_sync_demo.kafka.log_dump import dump_ids
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.group_member import ReaderOptions
from offset_sync_demo.load.group_reader import GroupReader
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.records import Records
from offset_sync_demo.load.workload import Producers
from offset_sync_demo.story.oracle import Measured, compare_group, expected_duplicates

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]


@dataclass
class Stopped:
    """A group that read a 50:50 topic at dc1 and crashed, and the two logs of dc2."""

    dc2: EmbeddedCluster
    topic: str
    before: dict[Partition, Records]
    captured: dict[Partition, int]
    target: dict[Partition, Records]

    def exact_starts(self) -> dict[Partition, int]:
        """Per partition the first offset of dc2 whose record is not below the commit."""
        starts = {}
        for place, log in self.target.items():
            read = self.before[place].ids[self.before[place].offsets < self.captured[place]]
            starts[place] = int(log.offsets[~np.isin(log.ids, read)][0])
        return starts

    def move(self, group: str, starts: dict[Partition, int]) -> Measured:
        """Start the group at dc2 from there, read everything, and ask the oracle."""
        committer = open_partition_reader(self.dc2, group)
        committer.commit(
            offsets=[TopicPartition(*place, offset) for place, offset in starts.items()], asynchronous=False
        )
        committer.close()
        reader = GroupReader(self.dc2, group, [self.topic], ReaderOptions(reset="error"))
        reader.start()
        reader.wait_until(stable_ends(self.dc2, starts))
        reader.stop()
        return compare_group(self.before, reader.records(), self.target, self.captured)


@pytest.fixture
def stopped(clusters: Clusters, topic_name: str, group_name: str) -> Stopped:
    dc1, dc2 = clusters["dc1"], clusters["dc2"]
    create_topic(clusters.values(), topic_name, 2)
    mirrors = [Mirror(dc1, dc2, [topic_name]), Mirror(dc2, dc1, [topic_name])]
    producers = Producers(clusters, [TopicLoad(topic_name, 2, 2000.0)], {})
    reader = GroupReader(dc1, group_name, [topic_name], ReaderOptions(commit_interval=0.4, max_rate=1500.0))
    for each in (*mirrors, producers, reader):
        each.start()
    _wait_for_commits(reader)
    captured = {place: commit.offset for place, commit in reader.last_commits().items()}
    reader.stop(kill=True)
    producers.stop()
    for mirror in mirrors:
        mirror.drain()
        mirror.stop()
    target = {place: dump_ids(dc2, place) for place in captured}
    return Stopped(dc2, topic_name, reader.records(), captured, target)


def test_the_oracle_finds_no_loss_and_the_expected_duplicates_of_an_exact_start(
    stopped: Stopped, group_name: str
) -> None:
    starts = stopped.exact_starts()

    measured = stopped.move(group_name, starts)

    expected = sum(
        expected_duplicates(stopped.before[place], log, stopped.captured[place], starts[place])
        for place, log in stopped.target.items()
    )
    assert measured.lost == 0
    assert measured.duplicates_of_commit == expected
    assert measured.read_after == sum(len(log) for log in stopped.target.values()) - sum(starts.values())


def test_the_oracle_sees_the_loss_of_a_start_that_is_too_late(stopped: Stopped, group_name: str) -> None:
    ends = {place: len(log) for place, log in stopped.target.items()}

    measured = stopped.move(group_name, {place: end - 5 for place, end in ends.items()})

    written = sum(ends.values())
    assert measured.lost == written - measured.read_before - measured.read_after + measured.duplicates
    assert measured.lost > 0


def _wait_for_commits(reader: GroupReader) -> None:
    """Return when both partitions have a commit behind which the group has read on."""
    while True:
        reached, commits = reader.reached(), reader.last_commits()
        time.sleep(0.01)
        if len(commits) == 2 and all(200 < commit.offset < reached[place] for place, commit in commits.items()):
            return
