"""A reader gets the records that are there, also if the client itself cannot read all of them."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from offset_sync.kafka import log_reader
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, log_consumer, next_messages, to_content
from offset_sync.model.values import RecordContent


class Queue:
    """What a consumer has fetched; it counts for how long it was made to wait."""

    def __init__(self, *messages: str) -> None:
        self.messages, self.waited_s = [*messages], 0.0

    def poll(self, seconds: float) -> str | None:
        if self.messages:
            return self.messages.pop(0)
        self.waited_s += seconds
        return None

    def consume(self, most: int, seconds: float) -> list[str]:
        """As librdkafka does: wait until so many are there, or all of that time."""
        taken, self.messages = self.messages[:most], self.messages[most:]
        self.waited_s += seconds if len(taken) < most else 0.0
        return taken


def taken(queue: Any, most: int) -> Any:
    return next_messages(queue, most, 0.5)


def test_what_is_there_is_returned_at_once_up_to_what_is_wanted_and_only_for_the_first_is_waited() -> None:
    queue = Queue("a", "b", "c")
    assert (taken(queue, 2), taken(queue, 200), queue.waited_s) == (["a", "b"], ["c"], 0.0)
    assert (taken(queue, 200), queue.waited_s) == ([], 0.5)


def test_headers_whose_names_are_no_text_cost_nothing_but_themselves() -> None:
    message = MagicMock(
        **{
            "offset.return_value": 7,
            "timestamp.return_value": (1, 2**63 - 1),
            "key.return_value": None,
            "value.return_value": b"v",
            "headers.side_effect": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        }
    )
    assert to_content(message) == RecordContent(7, 2**63 - 1, None, b"v", UNREADABLE_HEADERS)


def test_only_committed_records_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MagicMock()
    monkeypatch.setattr(log_reader, "Consumer", made)
    monkeypatch.setattr(log_reader, "cluster_id_of", lambda _consumer: "")
    with log_consumer("dc1", {"bootstrap.servers": "127.0.0.1:9"}, {}):
        (settings,) = made.call_args.args
    assert settings["isolation.level"] == "read_committed"
