"""Records that are there are read, those in time count, and the rest is named."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
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


ONE = TopicPartition("one", 0)


class UnreadableHeaders(Message):
    """A message with a header whose name is no text."""

    def headers(self) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")


def test_headers_whose_names_are_no_text_cost_nothing_but_themselves() -> None:
    assert to_content(UnreadableHeaders(ONE, 7)) == RecordContent(7, 5, None, b"v", UNREADABLE_HEADERS)


class Client:
    """A consumer that has fetched *messages*."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages, self.assigned = messages, list[list[Any]]()

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


def reading(monkeypatch: pytest.MonkeyPatch, *messages: Message) -> TailReader:
    monkeypatch.setattr(tail_reader, "log_consumer", lambda *_: nullcontext(Client([*messages])))
    return TailReader("dc1", {})


def test_the_end_of_a_log_is_an_end_and_another_error_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    reader = reading(monkeypatch, Message(ONE, 4), Message(ONE, 6, failure="_PARTITION_EOF"))
    assert reader.read({ONE: OffsetRange(4, 9)}, 30).unread == frozenset()
    assert time.monotonic() - began < 10
    reader = reading(monkeypatch, Message(ONE, 4), Message(ONE, 0, failure="_TRANSPORT"))
    assert reader.read({ONE: OffsetRange(4, 9)}, 0.1).unread == {ONE}
