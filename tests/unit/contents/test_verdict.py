"""When a partition cannot be aligned."""

from __future__ import annotations

import pytest

from offset_sync.contents.alignment.reach import Counts, Verdict


@pytest.mark.parametrize(
    ("copies", "unique", "aliens", "verdict"),
    [
        (0, 0, 0, Verdict.ALIGNED),
        (1, 0, 0, Verdict.AMBIGUOUS),
        (1_000, 1, 0, Verdict.ALIGNED),
        (1_001, 1, 0, Verdict.AMBIGUOUS),
        (3, 1, 1, Verdict.ALIGNED),
        (3, 1, 2, Verdict.MIRROR_ALTERS_RECORDS),
        (5_000, 4_000, 5, Verdict.ALIGNED),
        (5_000, 4_000, 6, Verdict.MIRROR_ALTERS_RECORDS),
    ],
)
def test_one_in_a_thousand_has_to_be_unique_and_no_more_may_have_no_original(
    copies: int, unique: int, aliens: int, verdict: Verdict
) -> None:
    assert Counts().plus(copies, unique, aliens).verdict is verdict


def test_what_was_long_ago_counts_for_less() -> None:
    counts = Counts().plus(1_000_000, 1_000_000, 0)
    for _ in range(30):
        counts = counts.plus(1_000_000, 0, 0)
    assert counts.verdict is Verdict.AMBIGUOUS
