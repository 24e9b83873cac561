"""What asks about the whole of long logs holds few pages of them at a time."""

from __future__ import annotations

import numpy as np

from builders.long_logs import FEW, RUNS, Mirrored
from offset_sync.model.values import ABSENT
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index_retention import IndexedLog, UnsealedRows, begins
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.strategies import answer_by_header

OLD_ROWS = UnsealedRows(np.arange(10_000), np.zeros(10_000, np.int64))
"""A row at every offset."""


def test_few_pages_of_a_log_are_held_at_a_time() -> None:
    logs = Mirrored()
    source, target = logs.logs
    ends = np.array([0, 0, RUNS]), np.array([0, 5, RUNS]), np.array([RUNS, RUNS, 0])
    cost = position_cost(*ends, PartitionLog(source, 0), PartitionLog(target, 1), NO_LIMIT)
    assert (cost.repeats.tolist(), cost.skipped.tolist()) == ([0, 0, RUNS], [RUNS, RUNS - 5, 0])
    assert answer_by_header(np.arange(RUNS + 1), source, target_origin=1, look_back=3)[:4].tolist() == [ABSENT, 0, 1, 1]
    indexed = [IndexedLog(log, code, RUNS - 2, NO_LIMIT, OLD_ROWS) for code, log in enumerate(logs.logs)]
    assert all(RUNS - 10 < one <= RUNS - 2 for one in begins(indexed, old_before_ms=1))
    assert max(len(set(pages.asked)) for pages in logs.pages) > 60
    assert logs.most() <= FEW
