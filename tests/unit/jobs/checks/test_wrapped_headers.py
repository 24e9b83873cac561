"""Header values that a wrong converter has written are told from those that are right, and from those that are none."""

from __future__ import annotations

import base64
import json

import pytest

from offset_sync.jobs.checks.wrapped_headers import wrapped_offset, wrapped_origin

KNOWN = {"dc1", "abcd"}  # the second one could be base64 itself
INT64 = (7).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (base64.b64encode, "base64"),
        (lambda value: json.dumps(value.decode()).encode(), "JSON"),
        (lambda value: json.dumps(base64.b64encode(value).decode()).encode(), "JSON with base64"),
        (lambda value: json.dumps({"schema": {}, "payload": value.decode()}).encode(), "JSON"),
        (lambda value: json.dumps({"schema": {}, "payload": base64.b64encode(value).decode()}).encode(), "JSON with"),
    ],
)
def test_what_is_inside_is_named(wrap, words: str) -> None:  # type: ignore[no-untyped-def]
    assert f", {words}" in wrapped_origin(wrap(b"dc1"), KNOWN)
    assert wrapped_origin(wrap(b"dc1"), KNOWN).endswith("of dc1")
    assert wrapped_offset(wrap(b"123"), "text").endswith("of 123")


def test_what_is_right_or_of_nobody_is_not_wrapped() -> None:
    for value in (b"dc1", b"abcd", b"", b"dc9", b"\xff\xfe", b'{"payload": null}', b'{"payload": true}', b"[" * 900):
        assert wrapped_origin(value, KNOWN) == ""
    for value in (b"7", b"1234", b"", b"-1", b"x", INT64, b"true"):
        assert wrapped_offset(value, "text") == ""
    for value in (INT64, b"7", b"", b"12345678"):
        assert wrapped_offset(value, "int64") == ""
    assert wrapped_offset(base64.b64encode(INT64), "int64") == "AAAAAAAAAAc=, base64 of 7"


def test_a_long_value_is_neither_parsed_nor_shown_whole() -> None:
    assert wrapped_origin(base64.b64encode(b"dc1" * 1000), KNOWN) == ""
    assert wrapped_origin(json.dumps({"schema": "x" * 1_000, "payload": "dc1"}).encode(), KNOWN) == ""
    assert len(wrapped_origin(json.dumps({"schema": "x" * 500, "payload": "dc1"}).encode(), KNOWN)) < 100
