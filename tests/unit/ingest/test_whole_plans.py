"""Whether a planned micro-batch reads all that there was: what it leaves for the next one may be as old as the log."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fakes.tables import MemoryTables
from fakes.unchecked import UNCHECKED
from generators.hypothesis_strategies import law
from offset_sync.ingest.checkpoint import Offsets, count_offsets
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.model.values import CONSUMER_OFFSETS

CUT = 1_000_000
"""Where a log ended that was cut since."""


class Planned:
    """A checkpoint with one micro-batch, planned as Spark's source for Kafka does it."""

    def __init__(self, sizes: list[int], most: int) -> None:
        places = [(CONSUMER_OFFSETS, number) for number in range(len(sizes))]
        total = sum(max(0, size) for size in sizes)
        self.start: Offsets = dict.fromkeys(places, CUT)
        self.end: Offsets = {
            place: CUT + (size if size <= 0 else min(size, _rounded(most * (size / total))))
            for place, size in zip(places, sizes, strict=True)
        }

    def start_offsets(self, _batch_id: int) -> Offsets:
        """Return where it starts."""
        return self.start

    def end_offsets(self, _batch_id: int) -> Offsets:
        """Return where it ends."""
        return self.end

    def record_limit(self, _batch_id: int) -> int:
        """Return how many records it can have."""
        return count_offsets(self.start, self.end)


def _rounded(share: float) -> int:
    return math.ceil(share) if share < 1 else math.floor(share)


@law(300)
@given(st.lists(st.integers(-CUT, 5_000), min_size=1, max_size=50), st.integers(1, 20_000))
def test_a_plan_that_leaves_records_for_the_next_one_is_never_whole(sizes: list[int], most: int) -> None:
    planned: Any = Planned(sizes, most)
    tables: Any = MemoryTables()
    ingester = CommitIngester("dc1", tables, planned, Any, 1, Reading(UNCHECKED, most=most))  # type: ignore[arg-type]
    is_left = planned.record_limit(0) < sum(max(0, size) for size in sizes)
    assert not (is_left and ingester.is_whole(0))
    if planned.record_limit(0) < most - len(sizes):
        assert ingester.is_whole(0)
