from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from confluent_kafka import KafkaException, TopicPartition

from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import Partition, admin_of, open_partition_reader, stable_ends
from offset_sync_demo.kafka.log_dump import dump_ids
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.group_member import ReaderOptions
from offset_sync_demo.load.group_reader import GroupReader, stop_readers
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [
    pytest.mark.broker,
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]
Clusters = dict[str, EmbeddedCluster]
RATE = 2000.0


@pytest.fixture
def producers(clusters: Clusters, topic_name: str) -> Iterator[Producers]:
    create_topic(clusters.values(), topic_name, 2)
    load = TopicLoad(topic_name, 2, RATE)
    running = Producers(clusters, [load], {topic_name: {"dc1": 1.0}})
    running.start()
    yield running
    running.stop(5)


def committed(cluster: EmbeddedCluster, group: str, topic: str) -> dict[Partition, int]:
    # Not by AdminClient.list_consumer_group_offsets: librdkafka's ends the process on a NOT_COORDINATOR answer.
    consumer = open_partition_reader(cluster, group)
    answers: list[TopicPartition] = []

    def is_answered() -> bool:
        try:
            answers.extend(consumer.committed([TopicPartition(topic, number) for number in (0, 1)], 5))
        except KafkaException:  # the coordinator of a broker that has just started is not there yet
            return False
        return True

    wait_until(is_answered)
    consumer.close()
    return {(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}


def wait_for(producers: Producers, count: int) -> None:
    wait_until(lambda: producers.count() >= count)


def wait_until(condition, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


def test_acknowledged_records_are_at_the_offsets_that_the_producers_have(
    clusters: Clusters, producers: Producers, topic_name: str
) -> None:
    wait_for(producers, 500)
    producers.stop()

    for place, acknowledged in producers.acknowledged("dc1").items():
        log = dump_ids(clusters["dc1"], place)
        assert log.ids.tolist() == acknowledged.ids.tolist()
        assert log.offsets.tolist() == acknowledged.offsets.tolist()
        assert log.timestamps.tolist() == acknowledged.timestamps.tolist()
    assert producers.acknowledged("dc2") == {}


def test_a_log_that_grows_all_the_time_is_read_to_the_end_that_it_had(
    clusters: Clusters, producers: Producers, topic_name: str
) -> None:
    wait_for(producers, 500)
    place = (topic_name, 0)
    end = stable_ends(clusters["dc1"], [place])[place]

    assert dump_ids(clusters["dc1"], place, timeout=20).offsets.tolist()[:end] == list(range(end))


def test_production_moves_to_another_cluster_while_it_runs(
    clusters: Clusters, producers: Producers, topic_name: str
) -> None:
    wait_for(producers, 200)
    producers.set_share({"dc2": 1.0})
    producers.wait_until_quiet("dc1")
    ends = stable_ends(clusters["dc1"], [(topic_name, 0), (topic_name, 1)])
    wait_for(producers, producers.count() + 200)

    assert stable_ends(clusters["dc1"], ends) == ends
    assert sum(len(each) for each in producers.acknowledged("dc2").values()) >= 200


def test_aborted_records_are_in_the_log_but_no_committed_reader_sees_them(clusters: Clusters, topic_name: str) -> None:
    create_topic(clusters["dc1"], topic_name, 1)
    load = TopicLoad(topic_name, 1, RATE, is_transactional=True, abort_every=2)
    producers = Producers({"dc1": clusters["dc1"]}, [load], {})
    producers.start()
    wait_until(lambda: len(producers.aborted("dc1")) > 0 and producers.count() >= 500)
    producers.stop()

    place = (topic_name, 0)
    acknowledged, aborted = producers.acknowledged("dc1")[place], producers.aborted("dc1")[place]
    log = dump_ids(clusters["dc1"], place)
    assert log.ids.tolist() == acknowledged.ids.tolist()
    assert len(aborted) > 0
    assert not np.isin(aborted.ids, log.ids).any()
    assert stable_ends(clusters["dc1"], [place])[place] > len(acknowledged) + len(aborted)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("commits", ["manual", "auto"])
def test_a_reader_knows_what_it_read_and_what_the_coordinator_holds(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str, protocol, commits
) -> None:
    options = ReaderOptions(protocol=protocol, commits=commits, commit_interval=0.3)
    reader = GroupReader(clusters["dc1"], group_name, [topic_name], options)
    reader.start()
    wait_until(lambda: len(reader.commits()) > 4)
    producers.stop()
    ends = stable_ends(clusters["dc1"], [(topic_name, 0), (topic_name, 1)])
    reader.wait_until(ends)
    reader.stop()

    acknowledged = producers.acknowledged("dc1")
    assert {place: records.ids.tolist() for place, records in reader.records().items()} == {
        place: records.ids.tolist() for place, records in acknowledged.items()
    }
    assert {place: commit.offset for place, commit in reader.last_commits().items()} == ends
    assert committed(clusters["dc1"], group_name, topic_name) == ends
    assert reader.errors() == []


@pytest.mark.parametrize("commits", ["manual", "auto"])
def test_a_killed_reader_commits_nothing_more_and_its_successor_reads_again_from_there(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str, commits
) -> None:
    options = ReaderOptions(commits=commits, commit_interval=60.0)
    reader = GroupReader(clusters["dc1"], group_name, [topic_name], options)
    reader.start()
    wait_until(lambda: reader.count() > 500 + sum(each.offset for each in reader.last_commits().values()))
    reader.stop(kill=True)

    stored = committed(clusters["dc1"], group_name, topic_name)
    assert stored == {place: commit.offset for place, commit in reader.last_commits().items()}
    read_to = reader.reached()
    assert any(stored.get(place, 0) < end for place, end in read_to.items())

    successor = GroupReader(clusters["dc1"], group_name, [topic_name])
    successor.start()
    successor.wait_until(read_to)
    successor.stop()
    starts = {place: int(records.offsets[0]) for place, records in successor.records().items()}
    assert starts == {place: stored.get(place, 0) for place in starts}


def test_a_slow_reader_lags_and_one_with_a_limit_stops_there(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str
) -> None:
    limits = {(topic_name, 0): 100, (topic_name, 1): 7}
    slow = GroupReader(clusters["dc1"], f"{group_name}-slow", [topic_name], ReaderOptions(max_rate=50.0))
    limited = GroupReader(clusters["dc1"], f"{group_name}-limited", [topic_name], ReaderOptions(stop_at=limits))
    slow.start()
    limited.start()
    wait_for(producers, 3000)
    limited.wait_until(limits)
    wait_until(lambda: slow.count() > 0)
    slow.stop()
    limited.stop()

    assert slow.count() < producers.count()
    assert {place: len(records) for place, records in limited.records().items()} == limits
    assert committed(clusters["dc1"], f"{group_name}-limited", topic_name) == limits


def test_a_missing_offset_is_an_error_and_not_a_silent_reset(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str
) -> None:
    wait_for(producers, 100)
    reader = GroupReader(clusters["dc1"], group_name, [topic_name], ReaderOptions(reset="error"))
    reader.start()
    wait_until(lambda: bool(reader.errors()))
    reader.stop()

    assert "_AUTO_OFFSET_RESET" in reader.errors()[0]
    assert reader.count() == 0


def test_two_members_share_the_partitions_and_read_each_record_once(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str
) -> None:
    admin = admin_of(clusters["dc1"])
    reader = GroupReader(clusters["dc1"], group_name, [topic_name], ReaderOptions(commit_interval=0.2), members=2)
    reader.start()
    wait_until(lambda: len(_assigned(admin, group_name)) == 2)
    wait_for(producers, producers.count() + 500)
    producers.stop()
    reader.wait_until(stable_ends(clusters["dc1"], [(topic_name, 0), (topic_name, 1)]))
    reader.stop()

    for place, records in reader.records().items():
        assert records.ids.tolist() == producers.acknowledged("dc1")[place].ids.tolist()


def test_everything_ends_although_the_broker_was_killed(
    clusters: Clusters, producers: Producers, topic_name: str, group_name: str
) -> None:
    readers = [
        GroupReader(clusters["dc1"], f"{group_name}-{protocol}", [topic_name], ReaderOptions(protocol=protocol))
        for protocol in ("classic", "consumer")
    ]
    for reader in readers:
        reader.start()
    wait_until(lambda: all(reader.commits() for reader in readers))
    clusters["dc1"].kill()
    try:
        stop_readers(readers, kill=True, timeout=3.0)
        producers.stop(1.0)
    finally:
        clusters["dc1"].start()

    for place, acknowledged in producers.acknowledged("dc1").items():
        assert np.isin(acknowledged.ids, dump_ids(clusters["dc1"], place).ids).all()
    for reader in readers:
        stored = committed(clusters["dc1"], reader.group_id, topic_name)
        assert all(stored[place] >= commit.offset for place, commit in reader.last_commits().items())


def _assigned(admin, group: str) -> list[list[TopicPartition]]:
    members = admin.describe_consumer_groups([group])[group].result(120).members
    return [member.assignment.topic_partitions for member in members if member.assignment.topic_partitions]
