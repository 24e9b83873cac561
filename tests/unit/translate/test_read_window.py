"""What is looked at of a target's log from an offset on, by pages and in memory."""

from __future__ import annotations

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.paged_runs import in_log_order
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.read_window import TargetView


def paged(page_runs: int) -> LogIndex:
    """A log that begins at 4: its runs of two records are three apart."""
    index, start = LogIndex(4), np.arange(5, 32, 3)
    index.extend(Runs.of(start, np.full(len(start), 2), start % 2, start * 10, start), 33)
    let_go_of_all_but(index, 1, page_runs, KeptPages())
    return index


@pytest.mark.parametrize("page_runs", [1, 2, 4])
@pytest.mark.parametrize("offset", range(2, 36))
def test_records_at_or_above_an_offset_are_in_the_stretches_and_nothing_else(page_runs: int, offset: int) -> None:
    index = paged(page_runs)
    view, expected = TargetView.of(index, offset), index.runs.from_offset(offset)
    if view.is_whole:
        found = [view.first]
    else:
        found = [view.runs(number) for number in range(len(view.stretches))]
        assert view.stretches.records.tolist() == [int(runs.length.sum()) for runs in found]
        assert view.stretches.first_record.tolist() == [int(runs.start[0]) for runs in found]
    for column, whole in zip(in_log_order(found).columns, expected.columns, strict=True):
        assert column.tolist() == whole.tolist()


def test_of_a_page_that_is_looked_at_as_a_whole_nothing_is_read() -> None:
    index = paged(2)
    for offset in (0, 4, *index.paged.pages.start.tolist()):
        TargetView.of(index, offset)
    kept = index.paged.store
    assert isinstance(kept, KeptPages)
    assert kept.asked == []
