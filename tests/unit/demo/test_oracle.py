from __future__ import annotations

import numpy as np
import pytest

from offset_sync_demo.load.records import Records
from offset_sync_demo.story.oracle import compare


def records(first: int, last: int) -> Records:
    """Record n is at offset n - 1."""
    numbers = np.arange(first, last + 1)
    return Records(numbers.astype(np.uint64), numbers - 1, np.zeros(len(numbers), np.int64))


@pytest.mark.parametrize(
    ("last_before", "first_after", "commit", "found"),
    [(3, 4, 3, (0, 0, 0)), (2, 4, 2, (1, 0, 0)), (3, 2, 3, (0, 2, 0)), (4, 2, 2, (0, 3, 2))],
    ids=[
        "it goes on where it stopped",
        "what was read neither before nor after is lost",
        "what was read before and again after is a duplicate",
        "duplicates read at or beyond the commit are counted apart",
    ],
)
def test_what_was_read_before_and_after_says_what_was_lost_and_repeated(
    last_before: int, first_after: int, commit: int, found: tuple[int, int, int]
) -> None:
    measured = compare(records(1, last_before), records(first_after, 5), records(1, 5), commit)
    assert (measured.lost, measured.duplicates, measured.past_commit) == found
    assert measured.duplicates_of_commit == found[1] - found[2]
