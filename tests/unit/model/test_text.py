"""Names as they may be shown, versions that are taken for the same, and words as codes of arrays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.model.text import escaped, one_line, visible
from offset_sync.model.versions import Match, match_version


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders of Köln 組 😀", "orders of Köln 組 😀"),
        ("a\nb\r\tc", "a\\u000ab\\u000d\\u0009c"),
        ("user\u202etxt", "user\\u202etxt"),
    ],
)
def test_what_does_not_show_is_written_as_an_escape(text: str, shown: str) -> None:
    assert escaped(text) == shown


@given(st.text())
def test_nothing_that_is_left_breaks_a_line(text: str) -> None:
    assert len(escaped(text).splitlines()) <= 1
    assert "\x1b" not in escaped(text)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (
            OSError("Generic S3 error\n  \x1b[31m↳\x1b[0m Error performing PUT\n   \x1b[31m↳\x1b[0m refused\n"),
            "Generic S3 error: refused",
        ),
        (OSError("refused"), "refused"),
        (OSError(13, "Permission denied"), "[Errno 13] Permission denied"),
        (OSError("no\x1b[31m"), "no\\u001b[31m"),
        (OSError(), "OSError"),
    ],
)
def test_an_exception_says_what_has_failed_and_why(problem: OSError, said: str) -> None:
    assert one_line(problem) == said


@given(st.text(), st.text())
def test_names_that_differ_are_shown_differently(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)


def test_another_patch_is_similar_and_another_minor_version_is_not() -> None:
    similar, others = ("4.4.1", "4.4", "4.4.0.7.1.9-387", ""), ("4.3.9", "5.4.0", "4.40.0", "4", "unknown")
    assert match_version("4.4.0", "4.4.0") is Match.SAME
    assert {match_version("4.4.0", found) for found in similar} == {Match.SIMILAR}
    assert {match_version("4.4.0", found) for found in others} == {Match.OTHER}
