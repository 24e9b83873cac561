"""What groups have read of a target's log from some offset on, and the first record that each has not.

For most stretches of a long log the directory of its index shows that all or nothing of them is read. Only the others
are read, one after the other, so the cost depends on them, and not on the age of the index. If the source's log is in
order they need not even be cut into pieces (``pieces``)::

    target Y     | all read | all read | some read | nothing | nothing |  tail
    commit c                             look here

A record that is not known to be read may have been read: at the source it may be where the index has not read yet, or
could not read the headers. If the target has each record once, at most as many are read as there are such places below
the commit::

    source X   x0 ?  x2 z4 | x4 ..       commit 6, indexed up to 4: the places are 1, 4 and 5
    target Y   x0 y0 z5 y1               y0, z5 and y1 may be read, each of them at one of the three places

A record that was truncated at the source may have been read before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Int64s, Runs, records_below
from offset_sync.translate.index.stretches import NO_PAGES, PagedRuns, Stretches
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.pieces import (
    Pieces,
    ReadByHeight,
    ReadHeights,
    count_read,
    cut_pieces,
    is_decided_by_heights,
    origins_in,
    read_by_height,
    read_for_sure,
)

Bools = NDArray[np.bool_]


class TargetView(NamedTuple):
    """A target's log from an offset on: its *stretches*, which are parts of *paged* from the number *first* on.

    Without stretches it is a part of what is in memory, *tail*: its runs say all, so they need no summary.
    """

    paged: PagedRuns
    stretches: Stretches
    first: int
    tail: Runs

    @classmethod
    def of(cls, index: LogIndex, offset: int) -> TargetView:
        """Return the log at or above *offset*; of pages also what is below it in the same page. Reads none."""
        paged = index.paged
        if offset >= paged.tail_begin or len(paged.pages) == 0:
            return cls(paged, NO_PAGES, 0, paged.tail.from_offset(offset))
        known = index.stretches()
        number = known.ended_by(offset)
        return cls(paged, known.take(slice(number, None)), number, paged.tail)

    def runs(self, number: int) -> Runs:
        """Return the runs of a stretch."""
        return self.paged.part(self.first + number)


class ReadWindow:
    """What groups have read of *target* at or above *window_start*; arrays have shape (commits,), other counts are int.

    Everything below *window_start* is read; what is there in the same page counts too. *stop* is the offset of the
    first unread record, or the end of the index where *at_frontier*; *below* counts the records before it. *read*
    counts all that is read, *read_deleted* those of them below the log start. Of all *records* so many are *deleted*,
    and so many *unknown*: the source may hold them beyond its index. Of those that are not deleted *unknown_left* are
    unknown, *malformed_left* could not be identified, and *readable_left* could.
    """

    def __init__(
        self, committed: Int64s, source: PartitionLog, target: PartitionLog, young_since_ms: int, window_start: int
    ) -> None:
        self.committed, self.source, self.target = committed, source, target
        self._young_since_ms, self._window_start = young_since_ms, window_start
        self._log_start, self._view = target.log_start, TargetView.of(target.index, window_start)
        self.stop = np.full(len(committed), max(target.index.frontier, window_start), np.int64)
        self.at_frontier = np.ones(len(committed), np.bool_)
        self.below, self.read, self.read_deleted = np.zeros((3, len(committed)), np.int64)
        self.has_young_hole = False
        self._all, self._gone = np.zeros((2, 3), np.int64)
        """How many records there are, how many of them are unknown and how many malformed: in all, and deleted."""
        if len(self._view.stretches):
            self._go_through()
        else:
            self._look_at(self._view.tail, np.ones(len(committed), np.bool_), 0)
        self.records, self.unknown, _ = map(int, self._all)
        self.deleted = int(self._gone[0])
        left, self.unknown_left, self.malformed_left = map(int, self._all - self._gone)
        self.readable_left = left - self.malformed_left
        self.below[self.at_frontier] = self.records

    def of_others(self, committed: Int64s) -> ReadWindow:
        """Return the same window of the same logs for other commits, of which none is lower than all of these."""
        return ReadWindow(committed, self.source, self.target, self._young_since_ms, self._window_start)

    def unread(self) -> Int64s:
        """Return how many records that are not deleted are not known to be read, without unidentified ones."""
        return self.readable_left - (self.read - self.read_deleted)

    def records_below(self, offset: Int64s) -> Int64s:
        """Return how many records are below each offset, shape (commits,)."""
        stretches, found = self._view.stretches, np.zeros(len(offset), np.int64)
        if len(stretches) == 0:
            return records_below(self._view.tail.start, self._view.tail.length, offset)
        number = np.maximum(np.searchsorted(stretches.start, offset, "right") - 1, 0)
        before = np.cumsum(stretches.records) - stretches.records
        for each in np.unique(number).tolist():
            rows, runs = number == each, self._view.runs(each)
            found[rows] = before[each] + records_below(runs.start, runs.length, offset[rows])
        return found

    def _go_through(self) -> None:
        stretches, committed = self._view.stretches, self.committed
        is_cut: Bools = (stretches.first_record < self._log_start) & (stretches.end > self._log_start)
        heights = ReadHeights(committed, self.source, self._young_since_ms, origins_in(stretches))
        everything, nothing = read_for_sure(stretches, heights, np.ones(len(committed), np.bool_))
        open_to: Bools = np.asarray(~(everything | nothing).all(axis=0))
        if open_to.any():
            heights.look_into(open_to)
            everything[:, open_to], nothing[:, open_to] = read_for_sure(stretches, heights, open_to)
        some: Bools = ~(everything | nothing) | is_cut[:, None]
        everything &= ~some
        nothing &= ~some
        # What one height decides need not be cut into pieces: each record's own offset is enough.
        near: Bools = some & (is_decided_by_heights(stretches, heights) & ~is_cut)[:, None] & heights.decided()
        is_looked_at: Bools = np.asarray((some & ~near).any(axis=1))
        is_deleted: Bools = stretches.end <= self._log_start
        self.read += stretches.records @ everything
        self.read_deleted += (stretches.records * is_deleted) @ everything
        before = stretches.records.cumsum() - stretches.records
        stops_at = np.where(nothing.any(axis=0), nothing.argmax(axis=0), len(stretches))
        for number in sorted({*np.flatnonzero(some.any(axis=1)).tolist(), *stops_at.tolist()}):
            if number == len(stretches):
                break
            if is_looked_at[number]:
                self._look_at(self._view.runs(number), some[number] & ~near[number], int(before[number]))
            if len(rows := np.flatnonzero(np.asarray(near[number]))):
                found = read_by_height(self._view.runs(number), heights, rows)
                self._take_in(found, rows, int(before[number]), is_deleted=bool(is_deleted[number]))
            stops = self.at_frontier & (stops_at == number)
            self._stop(stops, stretches.first_record[number], before[number])
        if len(committed) == 0:
            return
        # Unknown records count only for commits beyond the source's index: if there is any, the greatest is one.
        is_beyond: Bools = nothing[:, int(committed.argmax())]
        malformed = stretches.span(UNKNOWN_ORIGIN).records
        foreign = stretches.records - malformed - stretches.span(self.source.origin).records
        counts = np.array([stretches.records, foreign * is_beyond, malformed])
        self._all += counts[:, ~is_looked_at].sum(axis=1)
        self._gone += counts[:, ~is_looked_at & is_deleted].sum(axis=1)

    def _take_in(self, found: ReadByHeight, rows: NDArray[np.intp], before: int, *, is_deleted: bool) -> None:
        """Add what was *found* of one stretch for the commits *rows*, and the stops of those that had none."""
        self.read[rows] += found.read
        if is_deleted:
            self.read_deleted[rows] += found.read
        stops = found.has_unread & self.at_frontier[rows]
        self._stop(rows[stops], found.first_unread[stops], before + found.below[stops])

    def _look_at(self, runs: Runs, some: Bools, before: int) -> None:
        """Count what *some* have read of *runs*, and find the first unread record of those that have none yet."""
        pieces = cut_pieces(runs, self.source, self._young_since_ms)
        gone = pieces.below(self._log_start)
        committed = self.committed[some]
        self.read[some] += count_read(pieces, committed)
        self.read_deleted[some] += count_read(gone, committed)
        waiting = (some & self.at_frontier).nonzero()[0]
        required = np.maximum.accumulate(pieces.last_needs)
        piece = first_unread(required, self.committed[waiting])
        found = piece < len(pieces)
        waiting, piece = waiting[found], piece[found]
        into = _into_piece(pieces, piece, self.committed[waiting])
        below = pieces.length.cumsum() - pieces.length
        self._stop(waiting, pieces.start[piece] + into, before + below[piece] + into)
        self._all += _counts(pieces)
        self._gone += _counts(gone)
        self.has_young_hole |= bool(pieces.is_young.any())

    def _stop(self, rows: NDArray[Any], offset: Int64s, below: Int64s) -> None:
        self.stop[rows], self.below[rows], self.at_frontier[rows] = offset, below, False


def first_unread(required: Int64s, committed: Int64s) -> NDArray[np.intp]:
    """Return, for each committed offset, the index of the first target piece that is not fully read.

    *required* is F over pieces: non-decreasing, shape (pieces,). *committed* has shape (commits,), any order.
    An answer of ``len(required)`` means that all indexed target records are read.
    """
    return required.searchsorted(committed, "left")


def _into_piece(pieces: Pieces, piece: NDArray[np.intp], committed: Int64s) -> Int64s:
    """Return how far into its piece each answer is: where a linear f reaches the commit, else at its start."""
    ramp_from: Int64s = np.where(pieces.is_linear[piece], pieces.needs[piece], NO_LIMIT)
    into: Int64s = np.maximum(committed - ramp_from, 0)
    return into


def _counts(pieces: Pieces) -> tuple[int, int, int]:
    """Return how many records there are, how many of them are unknown, and how many malformed."""
    length = pieces.length
    return int(length.sum()), int(length[pieces.is_unknown].sum()), int(length[pieces.is_malformed].sum())


def possible_duplicates(window: ReadWindow) -> Int64s:
    """Return the most records that each group may have read beyond those known to be read, shape (commits,).

    Records below the target's log start are never repeated. Errs to too many. A record of the target that could not be
    identified may be any. Where records came late or again there, any number may be copies of one.
    """
    source = window.source.index
    unreadable = records_below(*source.unknown_ranges, window.committed) + source.lost_records
    places = np.maximum(window.committed - source.frontier, 0) + unreadable
    if window.target.index.reorders:
        places = np.where(places > 0, NO_LIMIT, 0)
    may_be_read = np.where(unreadable > 0, window.unread(), window.unknown_left)
    total: Int64s = np.minimum(places, may_be_read) + window.malformed_left
    return total


def position_cost(
    committed: Int64s,
    answer: Int64s,
    position: Int64s,
    source: PartitionLog,
    target: PartitionLog,
    young_since_ms: int,
) -> tuple[Int64s, Int64s]:
    """Return how many records each group repeats, and skips, at its *position* instead of the *answer*.

    Everything below the answer is read, so a position *below* it repeats the records between. Above it some are unread,
    and a group that resumed there would never see them::

        t(c) = 5         3   4 | 5   6   7   8          position 3: reads 3 and 4 again
        read             yes yes no  yes no  yes        position 8: skips 5 and 7, and does not repeat 6

    Repeats are the difference to the duplicates at the answer, so they may be negative. All shapes are (commits,). The
    answer is t(c) or, where that is deleted, the log start; no position is below the log start either. Errs to too many
    skipped: records not known to be read count as unread; and to too many repeats below the beginning of the index.
    """
    repeats, skipped = np.zeros((2, len(committed)), np.int64)
    index, is_behind = target.index, position < answer
    if is_behind.any():
        low, high = (index.paged.records_from(each[is_behind], index.frontier) for each in (position, answer))
        repeats[is_behind] = low - high + np.maximum(index.begin - position[is_behind], 0)
    for each in np.unique(position[position > answer]).tolist():
        rows = (position == each) & (answer < each)
        below = replace(target, index=index.below(each))
        window = ReadWindow(committed[rows], source, below, young_since_ms, int(answer[rows].min()))
        repeats[rows] = window.records_below(answer[rows]) - window.read
        skipped[rows] = window.records - window.read
    return repeats, skipped
