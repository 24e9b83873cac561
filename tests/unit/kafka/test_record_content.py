"""What is taken of a consumed message, also where the client itself cannot read it."""

from __future__ import annotations

from unittest.mock import MagicMock

from offset_sync.kafka.log_reader import UNREADABLE_HEADERS, to_content
from offset_sync.model.values import RecordContent


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
