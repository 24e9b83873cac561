"""Strategy ``identity``: copies byte for byte, in which every record has the offset that it has in its original.

Cluster Linking, Shadowing and the like keep such copies, which are read-only until they are promoted. So t(c) = c up to
the end of the copy, as long as it is one. A write to the copy ends that for good::

    original   a b c d e f g          a commit at 6: a to f are read
    copy       a b c d X Y            t(6) = 6 would skip X and Y

The promise: **no answer is beyond the records that are known to be the same in both logs.** Records are the same if
they have the same timestamp at the same offset. A copy that was written to differs from there on. So if two records are
the same, all below are; if two differ, none above can be trusted at either cluster. Errs to smaller answers, where an
index is behind, and to withholding.

Not detected: different records that were written to both logs at the same offset with the same timestamp. Until two
with different timestamps are indexed they count as the same. Log ends show it sooner if the copy is ahead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import State
from offset_sync.translate.exact import Answers, Bounds, translate_no_later
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionLog

_NEWEST = 4096
"""So many of the newest stretches that both logs may have are compared: logs that differ stay different."""


class Sameness(NamedTuple):
    """The records of two logs are the same up to *verified_to*, 0 if unknown; or some of them *differ*."""

    verified_to: int
    differ: bool


def compare_times(source: LogIndex, target: LogIndex) -> Sameness:
    """Compare the newest records that both indexes have, by their times; costs the same for logs of any length.

    A stretch of several times, from before the topic had this strategy, only counts as different if the times do not
    overlap. Errs to fewer that are the same.
    """
    end = min(source.frontier, target.frontier)
    here, there = _newest(source.times, end), _newest(target.times, end)
    if len(here.start) == 0 or len(there.start) == 0:
        return Sameness(0, False)
    edges = np.unique(np.concatenate([here.start, here.end, there.start, there.end]))
    edges = np.append(edges[edges < end], end)
    first = edges[:-1]
    mine, is_mine = here.at(first)
    theirs, is_theirs = there.at(first)
    is_common = is_mine & is_theirs
    is_other = (here.least[mine] > there.most[theirs]) | (there.least[theirs] > here.most[mine])
    is_known = (here.least[mine] == here.most[mine]) & (there.least[theirs] == there.most[theirs])
    is_same = is_common & is_known & ~is_other
    return Sameness(int(edges[1:][is_same].max(initial=0)), bool((is_common & is_other).any()))


def reason_against_copies(original: int, source: PartitionLog, target: PartitionLog) -> State | None:
    """Return COPY_WRITTEN if one of the logs has records that it would not have as a copy, None if none is known.

    *original* is the code of the cluster that is copied. A copy was written to if it was read beyond the original's
    end, queried later, or if records differ.
    """
    for copy, other in ((source, target), (target, source)):
        is_pair = other.origin == original and copy.origin != original
        if is_pair and copy.metadata.frontier > other.metadata.log_end:
            return State.COPY_WRITTEN
    return State.COPY_WRITTEN if compare_times(source.index, target.index).differ else None


def translate_copies(
    committed: Int64s, source: PartitionLog, target: PartitionLog, bounds: Bounds
) -> tuple[Answers, NDArray[np.intp]]:
    """Return the *committed* offsets as they are, shape (commits,), but no more than the end of the same records.

    And the states: EXACT for the same offset; AT_FRONTIER for the end of the target's index; INDEX_BEHIND where that of
    the source has not reached the commit. Other records that the index knows to be unread lower an answer too.
    """
    limit = _limit(source, target)
    answers = translate_no_later(committed, np.minimum(committed, limit), source, target, bounds)
    is_behind = committed > source.index.frontier
    state = np.where(is_behind, int(State.INDEX_BEHIND), int(State.APPROXIMATE))
    state[answers.is_exact] = State.EXACT  # the record there is unread, whatever the commit
    state[(answers.offset < committed) & (answers.offset >= target.index.frontier)] = State.AT_FRONTIER
    state[answers.offset == committed] = State.EXACT
    return answers, state


def _limit(source: PartitionLog, target: PartitionLog) -> int:
    """Return the first offset of the target that holds a record not known to be the same, or may hold one."""
    index = target.index
    verified_to = compare_times(source.index, index).verified_to
    if verified_to == 0:
        return index.frontier if index.first_record is None else min(target.log_start, index.frontier)
    times = index.times or TimeIndex()
    row = int(np.searchsorted(times.start, verified_to, "right"))
    if row and int(times.start[row - 1] + times.length[row - 1]) > verified_to:
        return verified_to  # inside a stretch
    return int(times.start[row]) if row < len(times) else index.frontier


class _Stretches(NamedTuple):
    """Stretches of a log by ascending offset, with their least and most times; shapes (stretches,)."""

    start: Int64s
    end: Int64s
    least: Int64s
    most: Int64s

    def at(self, offset: Int64s) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return which stretch each *offset* is in, and whether it is in any; shapes (offsets,)."""
        row = np.maximum(np.searchsorted(self.start, offset, "right") - 1, 0)
        return row, (self.start[row] <= offset) & (offset < self.end[row])


def _newest(times: TimeIndex | None, end: int) -> _Stretches:
    """Return the newest stretches that begin below *end*."""
    times = times or TimeIndex()
    last = int(np.searchsorted(times.start, end))
    rows = slice(max(0, last - _NEWEST), last)
    start = times.start[rows]
    return _Stretches(start, start + times.length[rows], times.least_ms[rows], times.most_ms[rows])
