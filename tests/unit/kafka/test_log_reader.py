"""What a consumer of a log is made with, that its end holds nobody up, and headers that are no text."""

from __future__ import annotations

import threading
from unittest.mock import MagicMock

import pytest

from offset_sync.kafka import log_reader
from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, log_consumer, to_content
from offset_sync.model.values import RecordContent


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


def test_headers_whose_names_are_no_text_cost_nothing_but_themselves() -> None:
    given = {"offset": 7, "timestamp": (1, 5), "key": None, "value": b"v"}
    message = MagicMock(**{f"{name}.return_value": each for name, each in given.items()})
    message.headers.side_effect = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert to_content(message) == RecordContent(7, 5, None, b"v", UNREADABLE_HEADERS)
