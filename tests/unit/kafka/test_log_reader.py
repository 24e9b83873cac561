"""Records that are there are read, those in time count, and the rest is named."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import MagicMock

import pytest

from fakes.consumed import Message
from offset_sync.kafka import log_reader, tail_reader
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, log_consumer, to_content
from offset_sync.kafka.tail_reader import TailReader
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition


def test_only_committed_records_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MagicMock()
    monkeypatch.setattr(log_reader, "Consumer", made)
    monkeypatch.setattr(log_reader, "cluster_id_of", lambda _consumer: "")
    with log_consumer("dc1", {"bootstrap.servers": "127.0.0.1:9"}, {}):
        (settings,) = made.call_args.args
    assert settings["isolation.level"] == "read_committed"


def test_a_client_that_never_closes_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made, may_close, closed = MagicMock(), threading.Event(), list[bool]()
    made.return_value.close.side_effect = lambda: closed.append(may_close.wait(2))
    monkeypatch.setattr(log_reader, "Consumer", made)
    monkeypatch.setattr(log_reader, "DEADLINE_S", 0.05)
    with log_consumer("dc1", {"bootstrap.servers": "127.0.0.1:9"}, {}) as consumer:
        consumer.close.assert_not_called()
    consumer.close.assert_called_once()
    assert closed == []
    may_close.set()


ONE, OTHER = TopicPartition("one", 0), TopicPartition("other", 3)


class UnreadableHeaders(Message):
    """A message with a header whose name is no text."""

    def headers(self) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def test_headers_whose_names_are_no_text_cost_nothing_but_themselves() -> None:
    assert to_content(UnreadableHeaders(ONE, 7)) == RecordContent(7, 5, None, b"v", UNREADABLE_HEADERS)


class Client:
    """A consumer that has fetched *messages*."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages, self.assigned, self.wanted = messages, list[list[Any]](), list[Any]()

    def poll(self, seconds: float) -> Message | None:
        if taken := self.consume(1, seconds):
            return taken[0]
        time.sleep(min(seconds, 0.01))
        return None

    def consume(self, most: int, seconds: float) -> list[Message]:
        assert most == 1 or seconds == 0, "librdkafka waits for so many, or all of that time"
        assigned = {(each.topic, each.partition) for each in self.assigned[-1]}
        taken = [each for each in self.messages if (each.topic(), each.partition()) in assigned][:most]
        self.messages = [each for each in self.messages if each not in taken]
        return taken

    def assign(self, partitions: list[Any]) -> None:
        self.assigned.append(partitions)

    def incremental_unassign(self, partitions: list[Any]) -> None:
        pass


def reading(monkeypatch: pytest.MonkeyPatch, *messages: Message) -> tuple[TailReader, Client]:
    client = Client([*messages])

    @contextmanager
    def given(_alias: str, _options: Any, wanted: Any) -> Iterator[Client]:
        client.wanted.append(wanted["isolation.level"])
        yield client

    monkeypatch.setattr(tail_reader, "log_consumer", given)
    return TailReader("dc1", {}), client


def test_what_came_counts_and_a_log_that_did_not_come_to_its_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, client = reading(monkeypatch, Message(ONE, 4), Message(OTHER, 7), Message(ONE, 5), Message(ONE, 6))
    found = reader.read({ONE: OffsetRange(4, 6), OTHER: OffsetRange(7, 9)}, 0.1)
    assert {place: [each.content.offset for each in some] for place, some in found.records.items()} == {
        ONE: [4, 5],
        OTHER: [7],
    }
    assert found.unread == {OTHER}
    assert client.wanted == ["read_committed"]


def test_the_end_of_a_log_is_an_end_and_another_error_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    reader, _ = reading(monkeypatch, Message(ONE, 4), Message(ONE, 6, failure="_PARTITION_EOF"))
    assert reader.read({ONE: OffsetRange(4, 9)}, 30).unread == frozenset()
    assert time.monotonic() - began < 10
    reader, _ = reading(monkeypatch, Message(ONE, 4), Message(ONE, 0, failure="_TRANSPORT"))
    assert reader.read({ONE: OffsetRange(4, 9)}, 0.1).unread == {ONE}


def test_long_values_are_compared_by_their_hash_and_times_say_whose_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    long = [b"a" * 5_000, b"a" * 5_000, b"b" * 5_000]
    messages = [Message(ONE, offset, value, kind=2) for offset, value in enumerate(long)]
    reader, _ = reading(monkeypatch, *messages)
    records = reader.read({ONE: OffsetRange(0, 3)}, 30).records[ONE]
    first, same, other = [each.content.value for each in records]
    assert first == same != other
    assert len(first or b"") < 100
    assert all(each.is_appended for each in records)
