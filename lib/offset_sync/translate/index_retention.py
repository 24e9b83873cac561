"""Which runs can be deleted: the offset at which the index of each log of one partition may begin.

A run is needed in two roles. In the *target's* log it says which records a group has still to read; in the *source's*
log it says from which commit on a record is read. No run is deleted that a live commit, or any commit at or above a
log start, can need in either role, so the answers to those stay the same. No other answer becomes greater::

    source X   offset     0    10   20   30   40       lowest commit 24, log start 30: commits from 24 on can come
                          a a a a b b a|a a b b        X has to keep the newest record of each origin below 24
    target Y   offset     0    10   20   30   40       t(24) = 17, log start 22: what lies below 17 is read by all
                          b a a a|a b a a b b a        groups, and deleted at Y
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces

_NEVER = int(NO_LIMIT)
"""No hole is too young: the record that shows it is below the lowest commit and old, or it counts as unread anyway."""


@dataclass(frozen=True)
class IndexedLog:
    """One cluster's log of a partition, the commits that may still come from it, and its rows of ``record_runs``.

    *origin* is the code of the records produced at the cluster, *lowest_commit* the lowest offset that any group holds
    there, its own commit or a translation (:data:`NO_LIMIT`: none). *row_start* (ascending) and *row_seen_ms* are the
    table's rows, rows of length 0 among them, shape (rows,).
    """

    index: LogIndex
    origin: int
    log_start: int
    lowest_commit: int
    row_start: Int64s
    row_seen_ms: Int64s

    @property
    def log(self) -> PartitionLog:
        """The log as the theorem takes it, with nothing deleted."""
        return PartitionLog(self.index, self.origin)

    def floor(self, old_before_ms: int) -> int:
        """Return the lowest offset that can be asked for, or that of the first row too young to be deleted."""
        is_young = self.row_seen_ms >= old_before_ms
        first_young = int(self.row_start[is_young].min(initial=NO_LIMIT))
        return min(self.log_start, self.lowest_commit, first_young)

    def row_at(self, offset: int) -> int:
        """Return where the last row begins that begins at or below *offset*; the first row, if none does.

        The index has to begin where a row does: it then covers everything from there to its frontier, which is never
        below the end of the last row.
        """
        return int(self.row_start[max(int(np.searchsorted(self.row_start, offset, "right")) - 1, 0)])


def begins(logs: Sequence[IndexedLog], *, old_before_ms: int) -> list[int]:
    """Return, for each of the partition's *logs*, where its index may begin: rows that end at or below can be deleted.

    *logs* must be all logs of the partition, for one that is left out may need a run. Rows first seen at or after
    *old_before_ms* (since the epoch) stay, and a hole that only they show does not count as one yet. Errs to keeping.
    """
    floors = [log.floor(old_before_ms) for log in logs]
    found = []
    for number, log in enumerate(logs):
        others = [(source, floor) for source, floor in zip(logs, floors, strict=True) if source is not log]
        limits = [_read_by_all(log, floors[number], source, floor) for source, floor in others]
        found.append(log.row_at(min([floors[number], *limits])))
    while True:
        kept = [log.index.paged.from_offset(begin) for log, begin in zip(logs, found, strict=True)]
        lower = []
        for number, log in enumerate(logs):
            targets = kept[:number] + kept[number + 1 :]
            needed = [_kept_for(log, floors[number], target) for target in targets]
            lower.append(log.row_at(min([found[number], *needed])))
        if lower == found:
            return found
        # A record that one log keeps longer may be one whose position another log then has to keep too.
        found = lower


def _read_by_all(target: IndexedLog, floor: int, source: IndexedLog, lowest_commit: int) -> int:
    """Return the offset below which every commit of *source* from *lowest_commit* on has read the target.

    It is never beyond the last record at or below *floor* whose f equals F there. A lower commit, whose answer lay
    below that, is answered with the log start before and after.
    """
    answers = translate(np.array([lowest_commit]), source.log, target.log, Bounds(_NEVER))
    pieces = cut_pieces(target.index.runs, source.log, _NEVER).below(floor + 1)
    if len(pieces) == 0:
        return min(floor, int(answers.offset[0]))
    reaches = np.flatnonzero(pieces.last_needs == np.maximum.accumulate(pieces.last_needs))[-1]
    return min(int(pieces.start[reaches] + pieces.length[reaches] - 1), int(answers.offset[0]))


def _kept_for(source: IndexedLog, floor: int, target: Runs) -> int:
    """Return the offset of the first record that *source* has to keep for the *target*'s runs.

    Of every origin the newest record below *floor* stays, if the target still holds one that is not newer. It proves
    all of those to be read by every commit from *floor* on, by their own position or as a hole that the group has
    passed. Where the mirror has sent a record twice its first position stays too, or the later one would count. The
    source's own records need no index.
    """
    runs = source.index.runs
    lowest = int(NO_LIMIT)
    for origin in set(np.unique(runs.origin).tolist()) - {source.origin, UNKNOWN_ORIGIN}:
        mine = runs.take(runs.origin == origin)
        below, above = _before(mine, floor), mine.from_offset(floor)
        oldest_there = target.origin_start[target.origin == origin].min(initial=NO_LIMIT)
        reach = below.origin_start + below.length
        if len(below) and oldest_there < reach.max():
            newest = int(np.argmax(reach))
            sent_again = below.start[_meets(below, above)]
            lowest = min(lowest, int(below.end[newest] - 1), int(sent_again.min(initial=NO_LIMIT)))
    return lowest


def _before(runs: Runs, offset: int) -> Runs:
    """Return what lies below *offset*; a run that straddles it is cut."""
    kept = runs.take(runs.start < offset)
    return replace(kept, length=np.minimum(kept.length, offset - kept.start))


def _meets(runs: Runs, others: Runs) -> NDArray[np.bool_]:
    """Return which *runs* hold a record that *others* hold too; all of one origin, shape (runs,)."""
    order = np.argsort(others.origin_start, kind="stable")
    start = others.origin_start[order]
    reach = np.concatenate(([0], np.maximum.accumulate(start + others.length[order])))
    starting_below_end = np.searchsorted(start, runs.origin_start + runs.length, "left")
    meets: NDArray[np.bool_] = reach[starting_below_end] > runs.origin_start
    return meets
