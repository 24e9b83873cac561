"""What a directory says of many pages at once is what it says of each."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.stretches import Stretches, in_a_row


def random_runs(rng: np.random.Generator, count: int, *, in_order: bool) -> Runs:
    """Return runs with gaps between them, of up to four origins; *in_order*: no record of one comes twice or late."""
    length, gap = rng.integers(1, 4, count), rng.integers(0, 2, count)
    start = np.cumsum(length + gap) - length
    origin_start = start if in_order else rng.integers(0, 2 * count, count)
    return Runs.of(start, length, rng.integers(-1, 3, count), origin_start, rng.integers(0, 9, count))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_many_pages_at_once_are_told_as_one_by_one(seed: int, in_order: bool) -> None:
    rng = np.random.default_rng(seed)
    pages, page_runs = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    runs = random_runs(rng, pages * page_runs + int(rng.integers(1, 4)), in_order=in_order)
    edges = np.arange(pages + 1) * page_runs
    begins = [0, *runs.start[edges[1:]].tolist()]
    one_by_one = in_a_row(
        [
            Stretches.of(runs.take(slice(first, end)), begins[number], begins[number + 1])
            for number, (first, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        ]
    )
    found = Stretches.of_pages(runs, pages, page_runs, 0)
    assert [column.tolist() for column in found.columns] == [column.tolist() for column in one_by_one.columns]
    assert found.spans.keys() == one_by_one.spans.keys()
    for origin in found.spans:
        spans = zip(found.span(origin), one_by_one.span(origin), strict=True)
        assert all(ours.tolist() == theirs.tolist() for ours, theirs in spans)
