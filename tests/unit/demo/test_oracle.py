from __future__ import annotations

import numpy as np
import pytest

from offset_sync_demo.load.records import Records
from offset_sync_demo.story.oracle import compare


def records(ids: list[int], first_offset: int = 0, offsets: list[int] | None = None) -> Records:
    places = list(range(first_offset, first_offset + len(ids))) if offsets is None else offsets
    return Records(np.array(ids, np.uint64), np.array(places, np.int64), np.zeros(len(ids), np.int64))


@pytest.mark.parametrize(
    ("before", "after", "target", "commit", "found"),
    [
        (records([1, 2, 3]), records([4, 5], 3), records([1, 2, 3, 4, 5]), 3, (0, 0, 0)),
        (records([1, 2]), records([4], 3), records([1, 2, 3, 4]), 2, (1, 0, 0)),
        (records([1, 2, 3]), records([2, 3, 4], 1), records([1, 2, 3, 4]), 3, (0, 2, 0)),
        # The commit says 2: records 3 and 4, at the source's offsets 2 and 3, were read after it.
        (records([1, 2, 3, 4]), records([2, 3, 4, 5], 1), records([1, 2, 3, 4, 5]), 2, (0, 3, 2)),
    ],
    ids=[
        "it goes on where it stopped",
        "what was read neither before nor after is lost",
        "what was read before and again after is a duplicate",
        "duplicates read at or beyond the commit are counted apart",
    ],
)
def test_what_was_read_before_and_after_says_what_was_lost_and_repeated(
    before: Records, after: Records, target: Records, commit: int, found: tuple[int, int, int]
) -> None:
    measured = compare(before, after, target, commit)
    assert (measured.lost, measured.duplicates, measured.past_commit) == found
    assert measured.duplicates_of_commit == found[1] - found[2]
