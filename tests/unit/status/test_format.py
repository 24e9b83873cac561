"""Names that show what they are, numbers and durations for people."""

from __future__ import annotations

import pytest

from offset_sync.model.text import to_count, to_duration, to_range, visible


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("orders-v2.eu", "orders-v2.eu"),
        ("長い名前 🔥", "長い名前 🔥"),
        ("<b>&amp;", "<b>&amp;"),
        ("right\u202eto-left", r"right\u202eto-left"),
        ("a\nb\x1b[31m", r"a\u000ab\u001b[31m"),
        ("no\u00a0break", r"no\u00a0break"),
        ("back\\slash", r"back\\slash"),
        ("\U000e0041", r"\U000e0041"),
        ("", '""'),
    ],
)
def test_what_does_not_show_is_written_out(name: str, shown: str) -> None:
    assert visible(name) == shown


def test_numbers_stay_short() -> None:
    assert [to_count(n) for n in (None, 0, 999_999, 1_234_567, 2**62)] == [
        "?",
        "0",
        "999,999",
        "1.23M",
        "4,611,686.02T",
    ]
    assert [to_range(3, 3), to_range(3, 12), to_range(None, None)] == ["3", "3 to 12", "?"]


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 s"),
        (400, "0.4 s"),
        (9_940, "9.9 s"),
        (9_999, "10 s"),
        (12_400, "12 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_600_000, "1 h"),
        (187_200_000, "2 d 4 h"),
    ],
)
def test_durations_are_for_people(ms: int, text: str) -> None:
    assert to_duration(ms) == text
