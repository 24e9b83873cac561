"""What the benchmark of scale takes for right, against the records of both logs one by one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from scale_index import Blocks


def records(blocks: Blocks, cluster: int) -> list[tuple[int, int]]:
    """Return cluster and number, at its origin, of each record of a log."""
    found = []
    for block in range(len(blocks)):
        start = int(blocks.start[block])
        for origin in (cluster, 1 - cluster):
            found += [(origin, start + n) for n in range(int(blocks.native[origin][block]))]
    return found


def test_the_right_answer_is_the_first_record_that_the_group_has_not_read() -> None:
    blocks = Blocks.of(3, 6_400)
    here, there = records(blocks, 0), records(blocks, 1)
    stands_at = {record: offset for offset, record in enumerate(here)}
    assert len(here) == len(there) == blocks.end
    wanted = []
    for committed in range(blocks.end + 1):
        unread = (offset for offset, record in enumerate(there) if stands_at[record] >= committed)
        wanted.append(next(unread, blocks.end))
    assert blocks.target_of(np.arange(blocks.end + 1)).tolist() == wanted
    assert blocks.target_of(blocks.end + np.arange(5)).tolist() == [blocks.end + n for n in (0, 0, 2, 2, 4)]
    assert [records(blocks, cluster)[-1] for cluster in (0, 1)] == [(1 - n, blocks.last_copied(n)) for n in (0, 1)]
