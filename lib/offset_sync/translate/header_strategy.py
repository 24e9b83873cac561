"""Strategy ``header``: the target offset that the mirror's header of a record at the source names.

For topics of two clusters. A record at the source that was mirrored *from the target* names its offset there. If it is
the record at the commit, that offset is the answer; if it comes earlier, the offset after that is. Whatever else the
target holds below came from the source and was produced there earlier, so it is below the commit and read. A third
cluster breaks this: its records reach the two in any order.
"""

from __future__ import annotations

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s, Runs


def answer_by_header(committed: Int64s, source: LogIndex, *, target_origin: int, look_back: int) -> Int64s:
    """Return a target offset per commit, ``ABSENT`` where no record near enough was produced at the target.

    Near enough are the first record at or above the commit and the *look_back* ones before it; shapes (commits,). With
    two clusters it never answers later than t(c), so it errs to duplicates. Page by page: few are held at a time.
    """
    found, page = np.empty(len(committed), np.int64), source.paged.pages.below(committed)
    for each in np.unique(page).tolist():
        rows = page == each
        found[rows] = _answers(committed[rows], source, target_origin, look_back)
    return found


def _answers(committed: Int64s, source: LogIndex, target_origin: int, look_back: int) -> Int64s:
    """Return the same for commits that lie in one page, or above all, of which there is at least one."""
    runs = _near(source, committed, look_back)
    if len(runs) == 0:
        return np.full(len(committed), ABSENT, np.int64)
    is_reference = runs.origin == target_origin
    row = np.searchsorted(runs.end, committed, "right")
    is_tail = row == len(runs)
    here = np.minimum(row, len(runs) - 1)
    into = np.where(is_tail, 0, np.maximum(committed - runs.start[here], 0))
    at_commit = is_reference[here] & ~is_tail

    # Counted from 1, so that 0 says that there is no reference before.
    number = np.maximum.accumulate(np.where(is_reference, np.arange(1, len(runs) + 1), 0))
    references_to = np.concatenate(([0], number))[row]
    is_found, before = references_to > 0, np.maximum(references_to - 1, 0)
    records_to = np.concatenate(([0], np.cumsum(runs.length)))
    distance = records_to[row] + into - records_to[before + 1] + 1
    is_near = is_found & (distance <= look_back)
    after_last = (runs.origin_start + runs.length)[before]
    found: Int64s = np.where(at_commit, runs.origin_start[here] + into, np.where(is_near, after_last, ABSENT))
    return found


def _near(source: LogIndex, committed: Int64s, look_back: int) -> Runs:
    """Return the runs that any answer can need: each holds a record, so *look_back* before the lowest commit."""
    runs = source.paged.near(int(committed.min()), int(committed.max()), look_back + 1)
    first = int(np.searchsorted(runs.end, committed.min(initial=0), "right"))
    return runs.take(slice(max(0, first - look_back - 1), None))
