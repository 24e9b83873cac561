"""Which pages of runs can be deleted: the offset at which the index of each log of one partition may begin.

A run is needed in two roles. In the *target's* log it says which records a group has still to read; in the *source's*
log it says from which commit on a record is read. No run is deleted that a live commit, or any commit at or above a
log start, can need in either role, so the answers to those stay the same. No other answer becomes greater::

    source X   offset     0    10   20   30   40       lowest commit 24, log start 30: commits from 24 on can come
                          a a a a b b a|a a b b        X has to keep the newest record of each origin below 24
    target Y   offset     0    10   20   30   40       t(24) = 17, log start 22: records below 17 are read by all
                          b a a a|a b a a b b a        groups, and deleted at Y

Whole pages go, as their directory shows: runs in memory are few, and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN
from offset_sync.translate.index.stretches import NONE_HIGH
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import cut_pieces

_NEVER = NO_LIMIT
"""No hole is too young: the record that shows it is below the lowest commit and old, or it counts as unread anyway."""


@dataclass(frozen=True)
class IndexedLog:
    """One cluster's log of a partition, and the commits that may still come from it.

    *origin* is the code of the records produced at the cluster, *lowest_commit* the lowest offset that any group holds
    there, its own commit or a translation (:data:`NO_LIMIT`: none).
    """

    index: LogIndex
    origin: int
    log_start: int
    lowest_commit: int

    @property
    def log(self) -> PartitionLog:
        """The log as the theorem takes it, with nothing deleted."""
        return PartitionLog(self.index, self.origin)

    def floor(self, old_before_ms: int) -> int:
        """Return the lowest offset that can be translated, or that of the first run too young to be deleted.

        A page is as young as its youngest row.
        """
        pages, tail = self.index.paged.pages, self.index.paged.tail
        columns = (pages.start, pages.seen_ms), (tail.start, tail.indexed_at_ms)
        young = np.concatenate([start[seen_ms >= old_before_ms] for start, seen_ms in columns])
        return min(self.log_start, self.lowest_commit, int(young.min(initial=NO_LIMIT)))

    def page_at(self, offset: int) -> int:
        """Return the first record of the last page that begins at or below *offset*; else where the index begins.

        The index must begin at a row: it then covers everything from there to its frontier, which is never below the
        end of the last row. A page that begins with a gap before its rows does not count.
        """
        pages, (unknown, _) = self.index.paged.pages.first_record, self.index.unknown_ranges
        begins = pages[~np.isin(pages, unknown)]
        return int(begins[begins <= offset].max(initial=self.index.begin))


def begins(logs: Sequence[IndexedLog], *, old_before_ms: int) -> list[int]:
    """Return, for each of the partition's *logs*, where its index may begin: rows that end at or below can be deleted.

    *logs* must be all logs of the partition, because one that is left out may need a run. Runs first seen at or after
    *old_before_ms* (since the epoch) stay, and a hole that only they show does not count as one yet. Errs to keeping.
    """
    floors = [log.floor(old_before_ms) for log in logs]
    found = list[int]()
    for number, log in enumerate(logs):
        others_there = [(source, floor) for source, floor in zip(logs, floors, strict=True) if source is not log]
        limits = [_read_by_all(log, floors[number], source, floor) for source, floor in others_there]
        found.append(log.page_at(min([floors[number], *limits])))
    while True:
        kept = list(zip(logs, found, strict=True))
        lower = list[int]()
        for number, log in enumerate(logs):
            others = kept[:number] + kept[number + 1 :]
            needed = [_kept_for(log, log.page_at(floors[number]), target.index, begin) for target, begin in others]
            lower.append(log.page_at(min([found[number], *needed])))
        if lower == found:
            return found
        # If one log keeps a record longer, another log may have to keep its position too.
        found = lower


def _read_by_all(target: IndexedLog, floor: int, source: IndexedLog, lowest_commit: int) -> int:
    """Return the offset below which every commit of *source* from *lowest_commit* on has read the target.

    It is never beyond the last record at or below *floor* whose f equals F there. A lower commit, whose answer is below
    that, gets the log start before and after.
    """
    answers = translate(np.array([lowest_commit]), source.log, target.log, Bounds(_NEVER))
    reaches, reached = floor, -1
    for runs in target.index.paged.parts(target.index.begin, floor + 1):
        pieces = cut_pieces(runs, source.log, _NEVER).below(floor + 1)
        if len(pieces):
            required = np.maximum(np.maximum.accumulate(pieces.last_needs), reached)
            reached = int(required[-1])
            equal = np.flatnonzero(pieces.last_needs == required)
            if len(equal):
                reaches = int(pieces.start[equal[-1]] + pieces.length[equal[-1]] - 1)
    return min(reaches, int(answers.offset[0]))


def _kept_for(source: IndexedLog, floor: int, target: LogIndex, begin: int) -> int:
    """Return where the first page begins that *source* must keep for the records of *target* from *begin* on.

    Both are beginnings of pages. Of every origin the newest record below *floor* is kept, if the target still has one
    that is not newer. It proves that every commit from *floor* on has read all of those, by their own position or as a
    hole that the group has passed. So all is kept below a record of unknown identity, which may fill any hole. If the
    mirror may have sent a record twice its first position is kept too, or the later one would count. The source's own
    records need no index.
    """
    if source.index.last_unknown >= floor:
        return source.index.begin
    here, there, lowest = source.index.stretches(), target.stretches(), NO_LIMIT
    below, kept = here.ended_by(floor), there.ended_by(begin)
    for origin in source.index.origins - {source.origin, UNKNOWN_ORIGIN}:
        span = here.span(origin)
        high = span.high[:below]
        newest = int(high.max(initial=NONE_HIGH))
        if there.span(origin).low[kept:].min(initial=NO_LIMIT) <= newest:
            is_needed = (high == newest) | (high >= span.low[below:].min(initial=NO_LIMIT))
            lowest = min(lowest, int(here.start[is_needed.argmax()]))
    return lowest
