"""Strategy ``header``: what the mirror's header of a record at the source says of its place at the target.

For topics of two clusters. A record at the source that was mirrored *from the target* names its place there: at the
commit it is the answer, before it the record after that place is. What the target had before it came from the source
and was produced there earlier, so it stands below the commit and is read. A third cluster breaks this: its records
reach the two in any order.
"""

from __future__ import annotations

import numpy as np

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s, Runs

NO_ANSWER = -1


def answer_by_header(committed: Int64s, source: LogIndex, *, target_origin: int, look_back: int) -> Int64s:
    """Return an answer per commit, :data:`NO_ANSWER` where none of the *look_back* records before it came from there.

    The record at the commit is the first at or above it; shapes (commits,).
    """
    runs = _near(source, committed, look_back)
    if len(runs) == 0:
        return np.full(len(committed), NO_ANSWER, np.int64)
    is_reference = runs.origin == target_origin
    row = np.searchsorted(runs.end, committed, "right")
    is_tail = row == len(runs)
    here = np.minimum(row, len(runs) - 1)
    into = np.where(is_tail, 0, np.maximum(committed - runs.start[here], 0))
    at_commit = is_reference[here] & ~is_tail

    last_reference = np.maximum.accumulate(np.where(is_reference, np.arange(len(runs)), -1))
    before = np.concatenate(([-1], last_reference))[row]
    is_found, before = before >= 0, np.maximum(before, 0)
    records_to = np.concatenate(([0], np.cumsum(runs.length)))
    distance = records_to[row] + into - records_to[before + 1] + 1
    is_near = is_found & (distance <= look_back)
    after_last = (runs.origin_start + runs.length)[before]
    return np.where(at_commit, runs.origin_start[here] + into, np.where(is_near, after_last, NO_ANSWER))


def _near(source: LogIndex, committed: Int64s, look_back: int) -> Runs:
    """Return the runs that any answer can need: every run has a record, so as many before the lowest commit."""
    runs = source.runs
    first = int(np.searchsorted(runs.end, committed.min(initial=0), "right"))
    return runs.take(slice(max(0, first - look_back - 1), None))
