"""Records of one partition to runs: stretches in which offset and origin offset grow by one and the origin stays.

```
 offset         7  8  9 10 11 12        start_offset  length  origin_code  origin_start
 origin_code    0  0  0  1  1  1   ──▶             7       3            0           100
 origin_offset 100 101 102 5 6 9                  10       2            1             5
                                                  12       1            1             9
```
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

MALFORMED_CODE = -1
"""Origin code of records with unreadable headers; their origin offset is their own offset, so they form runs too."""


@dataclass(frozen=True)
class RunColumns:
    """Runs of one partition in log order, one element per run; timestamps are the least and greatest within it."""

    start_offset: NDArray[np.int64]
    length: NDArray[np.int64]
    origin_code: NDArray[np.int32]
    origin_start: NDArray[np.int64]
    min_timestamp_ms: NDArray[np.int64]
    max_timestamp_ms: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start_offset)


def cut_runs(
    offset: NDArray[np.int64],
    timestamp_ms: NDArray[np.int64],
    origin_code: NDArray[np.int32],
    origin_offset: NDArray[np.int64],
    split_on_timestamp: bool = False,
) -> RunColumns:
    """Cut records of one partition, in log order and of one length, into runs that are as long as possible.

    With *split_on_timestamp* a run also ends where the timestamp changes, so that every run has just one.
    Offsets are not negative, so no difference overflows. Memory: a few arrays of the input's length.
    """
    if len(offset) == 0:
        nothing = np.empty(0, np.int64)
        return RunColumns(nothing, nothing, np.empty(0, np.int32), nothing, nothing, nothing)
    is_cut = (offset[1:] - offset[:-1] != 1) | (origin_offset[1:] - origin_offset[:-1] != 1)
    is_cut |= origin_code[1:] != origin_code[:-1]
    if split_on_timestamp:
        is_cut |= timestamp_ms[1:] != timestamp_ms[:-1]
    borders = np.concatenate(([0], is_cut.nonzero()[0] + 1, [len(offset)]))
    first = borders[:-1]
    return RunColumns(
        offset[first],
        borders[1:] - first,
        origin_code[first],
        origin_offset[first],
        np.minimum.reduceat(timestamp_ms, first),
        np.maximum.reduceat(timestamp_ms, first),
    )


def join_runs(first: RunColumns, second: RunColumns, split_on_timestamp: bool = False) -> RunColumns:
    """Put *second*, which follows *first* in the log, behind it; a run that goes on across the border becomes one.

    ``join_runs(cut_runs(a), cut_runs(b))`` is ``cut_runs(a + b)``, given the same *split_on_timestamp*.
    """
    continues = bool(len(first) and len(second)) and _continues(first, second, split_on_timestamp)
    columns = {
        field.name: np.concatenate([getattr(first, field.name), getattr(second, field.name)[int(continues) :]])
        for field in fields(RunColumns)
    }
    if continues:
        border = len(first) - 1
        columns["length"][border] += second.length[0]
        columns["min_timestamp_ms"][border] = min(first.min_timestamp_ms[-1], second.min_timestamp_ms[0])
        columns["max_timestamp_ms"][border] = max(first.max_timestamp_ms[-1], second.max_timestamp_ms[0])
    return RunColumns(**columns)


def _continues(first: RunColumns, second: RunColumns, split_on_timestamp: bool) -> bool:
    """True where the last run of *first* and the first of *second* are one; Python's integers, they never overflow."""
    length = int(first.length[-1])
    return (
        int(first.start_offset[-1]) + length == int(second.start_offset[0])
        and int(first.origin_start[-1]) + length == int(second.origin_start[0])
        and first.origin_code[-1] == second.origin_code[0]
        and not (split_on_timestamp and first.max_timestamp_ms[-1] != second.min_timestamp_ms[0])
    )
