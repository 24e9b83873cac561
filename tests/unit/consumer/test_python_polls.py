"""What the Python consumer does between librdkafka and an application: timeouts, errors, interrupts, settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_STORED, KafkaError, Message, TopicPartition

from consumer.python_cases import FakeCommits, python_cases
from consumer.read_list_texts import CLUSTER, list_text
from consumer.skip_read_cases import ALL, PLACE, RANGES, START, UNREAD
from offset_sync_consumer.skip_read import SkipRead

PARTITION_EOF = KafkaError(KafkaError._PARTITION_EOF)


class Log:
    """A consumer that has these messages buffered, and then none; *paused* partitions have nothing buffered."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = list(messages)
        self.paused: list[TopicPartition] = []

    def poll(self, timeout: float = -1) -> Message | None:
        return next(iter(self.consume(1, timeout)), None)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        found, self._messages = self._messages[:num_messages], self._messages[num_messages:]
        if not found and timeout > 0:
            time.sleep(timeout)
        return found

    def cluster_id(self, timeout: float = -1) -> str:
        return CLUSTER

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        raise AssertionError("FakeCommits answers")

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition("orders", 0)]

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused += partitions


def message(offset: int, error: KafkaError | None = None) -> Message:
    return Message(topic="orders", partition=0, offset=offset, leader_epoch=3, error=error)


@pytest.fixture
def commits() -> FakeCommits:
    """A group that starts at 100 with a list that ends at 110."""
    found = FakeCommits("billing")
    found.set("lists", {PLACE: (START, list_text(START, 3, RANGES))})
    found.set("own", {PLACE: START})
    return found


def skip(log: Log, commits: FakeCommits) -> SkipRead:
    return SkipRead(log, {"client.id": "app-1"}, commits, lambda: time.monotonic() * 1000)


def offsets(messages: Sequence[Message]) -> list[int | None]:
    return [each.offset() for each in messages]


def test_errors_are_returned_in_their_place_and_count_for_nothing(commits: FakeCommits) -> None:
    log = Log([message(101), message(102), message(103, PARTITION_EOF), message(103), message(104)])
    subject = skip(log, commits)
    found = subject.consume(5, 0)
    assert [(each.offset(), each.error() is None) for each in found] == [(101, True), (103, False), (104, True)]
    assert subject.counters()["skipped-total"] == 2
    first = skip(Log([message(50, PARTITION_EOF)]), commits).poll(0)
    assert first is not None
    assert first.error() == PARTITION_EOF
    assert len(commits.reads) == 1, "an error asks for no list"
    subject.close()
    assert [each.partition for each in log.paused] == [0], "so that it commits nothing that is buffered"


def test_what_librdkafka_commits_meanwhile_is_not_taken_for_what_the_group_had_committed(tmp_path: Path) -> None:
    with python_cases(tmp_path) as cases:
        cases.open()
        cases.give(START, RANGES, own=START + 8)
        assert cases.poll(*ALL) == UNREAD, "its own commit of these very records"
        assert cases.uses == [{PLACE: (START, "offset-sync/1 from=100 by app-1")}]


@pytest.mark.parametrize(
    ("offset", "is_sought"), [(START, True), (OFFSET_BEGINNING, True), (OFFSET_STORED, False), (-1001, False)]
)
def test_a_position_that_the_application_sets_counts_as_sought(
    commits: FakeCommits, offset: int, is_sought: bool
) -> None:
    commits.set("own", {PLACE: START + 8})
    subject = skip(Log([message(each) for each in ALL]), commits)
    subject.note_sought([TopicPartition("orders", 0, offset)])
    assert offsets(subject.consume(12, 0)) == ([*range(100, 108), 110, 111] if is_sought else UNREAD)
