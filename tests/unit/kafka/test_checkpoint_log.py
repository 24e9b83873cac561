"""MirrorMaker's log of checkpoints is read on where reading ended, and nothing counts as read that was not returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING

from fakes.consumed import Message
from offset_sync.kafka import internal_logs
from offset_sync.kafka.internal_logs import CheckpointLog
from offset_sync.kafka.requests import NotAuthorizedError, TransientError
from offset_sync.model.values import TopicPartition

TOPIC = "dc1.checkpoints.internal"
PLACE = TopicPartition(TOPIC, 0)


@dataclass
class Broker:
    """A cluster with one topic, None: without it. After *most* records of an assignment nothing more comes."""

    offsets: list[int] | None = field(default_factory=list)
    most: int = 10**9
    failure: str | None = None
    assigned: list[int] = field(default_factory=list)
    alias: str = "dc2"

    def partition_count(self, topic: str, deadline: float) -> int | None:
        """As a cluster's admin client."""
        assert topic == TOPIC
        return None if self.offsets is None else 1

    @contextmanager
    def consumer(self, alias: str, options: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[Broker]:
        """As log_consumer: what is in open transactions counts too."""
        assert wanted["isolation.level"] == "read_uncommitted"
        yield self

    def assign(self, partitions: list[Any]) -> None:
        (partition,) = partitions
        assert (partition.topic, partition.partition) == (TOPIC, 0)
        self.assigned.append(partition.offset)
        start = max(partition.offset, 0) if partition.offset <= self.end else 0  # auto.offset.reset
        self._left = [each for each in self.offsets or [] if each >= start]

    def incremental_unassign(self, partitions: list[Any]) -> None:
        pass

    @property
    def end(self) -> int:
        return max(self.offsets or [-1]) + 1

    def poll(self, seconds: float) -> Message | None:
        if self.failure:
            return Message(PLACE, -1001, failure=self.failure)
        if len(self.offsets or []) - len(self._left) >= self.most:
            return None
        return Message(PLACE, self._left.pop(0)) if self._left else Message(PLACE, self.end, failure="_PARTITION_EOF")

    def consume(self, most: int, seconds: float) -> list[Message]:
        return []


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    found = Broker([0, 1, 2])
    monkeypatch.setattr(internal_logs, "log_consumer", found.consumer)
    return found


def log_of(broker: Any) -> CheckpointLog:
    return CheckpointLog(broker, {}, TOPIC)


def offsets(log: CheckpointLog, deadline: float = 5.0) -> list[int]:
    return [each.offset for each in log.read(deadline) or []]


def test_each_record_comes_once(broker: Broker) -> None:
    log = log_of(broker)
    assert (offsets(log), log.is_at_end) == ([0, 1, 2], True)
    assert offsets(log) == []
    broker.offsets = [0, 1, 2, 3, 7]  # compacted between
    assert offsets(log) == [3, 7]
    assert broker.assigned == [OFFSET_BEGINNING, 3, 3]


def test_without_a_topic_there_is_none_and_one_that_comes_is_read_from_its_beginning(broker: Broker) -> None:
    log = log_of(broker)
    offsets(log)
    broker.offsets = None
    assert (log.read(1.0), log.is_at_end) == (None, True)
    broker.offsets = [0, 1, 2, 3]
    assert offsets(log) == [0, 1, 2, 3]


def test_one_that_was_cut_is_read_from_its_beginning(broker: Broker) -> None:
    log = log_of(broker)
    offsets(log)
    broker.offsets = [0]
    assert offsets(log) == [0]


def test_what_came_in_time_is_read_and_the_rest_next_time(broker: Broker) -> None:
    log = log_of(broker)
    broker.most = 2
    assert (offsets(log, 0.05), log.is_at_end) == ([0, 1], False)
    broker.most = 10
    assert (offsets(log), log.is_at_end) == ([2], True)


def test_so_many_are_held_at_once_and_no_more(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal_logs, "_MOST_AT_ONCE", 2)
    log = log_of(broker)
    assert (offsets(log), log.is_at_end) == ([0, 1], False)
    assert (offsets(log), log.is_at_end) == ([2], True)


def test_where_nothing_comes_nothing_counts_as_read(broker: Broker) -> None:
    log = log_of(broker)
    broker.most = 0
    with pytest.raises(TransientError, match="no record read within"):
        log.read(0.05)
    broker.most = 10
    assert offsets(log) == [0, 1, 2]


def test_one_that_may_not_be_read_is_refused_at_once(broker: Broker) -> None:
    broker.failure = "TOPIC_AUTHORIZATION_FAILED"
    with pytest.raises(NotAuthorizedError, match="Read is not allowed"):
        log_of(broker).read(60.0)


def test_other_errors_are_waited_for(broker: Broker) -> None:
    log = log_of(broker)
    broker.failure = "_TRANSPORT"
    with pytest.raises(TransientError):
        log.read(0.05)
    broker.failure = None
    assert offsets(log) == [0, 1, 2]
