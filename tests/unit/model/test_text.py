"""Names as they may be shown: on one line, with nothing that a terminal would act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.model.text import escaped, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders of Köln 組 😀", "orders of Köln 組 😀"),
        ("a\nb\r\tc", "a\\u000ab\\u000d\\u0009c"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("user\u202etxt", "user\\u202etxt"),
        ("\u2028\U000e0001", "\\u2028\\U000e0001"),
        ("a\\b", "a\\b"),
        ("", ""),
    ],
)
def test_what_does_not_show_is_written_as_an_escape(text: str, shown: str) -> None:
    assert escaped(text) == shown


@given(st.text())
def test_nothing_that_is_left_breaks_a_line(text: str) -> None:
    assert len(escaped(text).splitlines()) <= 1
    assert "\x1b" not in escaped(text)


@given(st.text(), st.text())
def test_names_that_differ_are_shown_differently(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)
