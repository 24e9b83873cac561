"""The index of one (cluster, topic, partition): its runs, and its frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from offset_sync.translate.index.columns import shallow
from offset_sync.translate.index.indexing_times import IndexingTimes
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import NO_RUNS, UNKNOWN_ORIGIN, Int64s, Runs, distinct_origins
from offset_sync.translate.index.stretches import OriginSpans, PagedRuns, PageStore, Stretches, in_log_order, meets
from offset_sync.translate.index.time_index import TimeIndex


@dataclass(frozen=True)
class KnownPages:
    """A summary of contiguous *pages* without their runs: how many *runs* they have, and what else is known.

    *first_runs* has the first run of each origin, by its code, *unknown_start* and *unknown_length* have the stretches
    of unknown identity. *oldest_ms* is when the oldest row of each page was indexed, shape (pages,), *grew_at_ms* when
    the last record was, *complete_until_ms* the last such value of a row, 0: none. *reorders* counts pages with a
    record below an earlier one of its origin.
    """

    pages: Stretches
    runs: int
    first_runs: Mapping[int, Runs]
    unknown_start: Int64s
    unknown_length: Int64s
    oldest_ms: Int64s
    grew_at_ms: int
    complete_until_ms: int = 0
    reorders: int = 0


class LogIndex:
    """Runs of one log in memory, extended as ``record_runs`` grows.

    Everything in ``[begin, frontier)`` is known: an offset in there without a run holds no record (it is a transaction
    marker, or compacted away). Nothing is known outside. The frontier must never pass a record that is not among the
    runs, or groups would lose that record.

    *is_contradicted*: the index was given two different records for one offset. The log was truncated there and has
    grown again, and it is unknown which of them is valid, so nothing of it may be translated any more. *times* exists
    for topics that are translated by timestamp. *grew_at_ms* is when the last record was indexed, *indexing_times* when
    the others were. All records in the log at *complete_until_ms* are indexed; errs to earlier. *last_unknown* is the
    last offset of a record of unknown identity, -1: there is none; *unknown_ranges* are the first offset and the length
    of each stretch of these, neighbours may be two. *lost* are truncated copies, *lost_records* counts
    them; a group may have read them before. *paged* are the runs by parts, of which some are not in memory.
    *reorders* is :meth:`reorder_count` without unknown records.
    """

    def __init__(self, begin: int = 0) -> None:
        self.paged = PagedRuns(begin)
        self._positions: dict[int, tuple[OriginPositions, int]] = {}
        self._reach: dict[int, int] = {}
        self.reorders = 0
        self._first_runs: dict[int, Runs] = {}
        self.unknown_ranges: tuple[Int64s, Int64s] = NO_RUNS.start, NO_RUNS.length
        self.lost = NO_RUNS
        self.begin = self.frontier = begin
        self.is_contradicted = False
        self.times: TimeIndex | None = None
        self.origins: set[int] = set()
        self.grew_at_ms = self.complete_until_ms = 0
        self.last_unknown, self.lost_records = -1, 0
        self.indexing_times = IndexingTimes()

    @property
    def runs(self) -> Runs:
        """All runs, by ascending offset; neighbours that continue each other are joined. Reads every page."""
        return self.paged.from_offset(self.begin)

    def stretches(self) -> Stretches:
        """Return what is known of each page, and of what is in memory, without reading any."""
        return self.paged.stretches(self.frontier)

    def extend(self, runs: Runs, frontier: int) -> None:
        """Add newly indexed *runs*, by ascending offset, and move the frontier to *frontier* if that is further.

        Runs below the old frontier are known already and left out, and so are repeats: after a re-index the table
        repeats everything.
        """
        distinct = runs.without_repeats()
        is_all_new = distinct is runs and (len(runs) == 0 or int(runs.start[0]) >= self.frontier)
        fresh, before = distinct.from_offset(self.frontier), self.frontier
        # Known runs may have to be read, which may fail: then nothing is added.
        is_confirmed = is_all_new or self._confirms(runs, self.begin, before)
        if len(fresh):
            self.grew_at_ms = max(self.grew_at_ms, int(fresh.indexed_at_ms.max()))
            self.indexing_times.extend(fresh.start, fresh.indexed_at_ms)
            origins = distinct_origins(fresh.origin)
            self.origins.update(origins)
            if UNKNOWN_ORIGIN in origins:
                is_unknown = fresh.origin == UNKNOWN_ORIGIN
                self._note_unknown(fresh.start[is_unknown], fresh.length[is_unknown])
            fresh = fresh.joined()
            self._note_first(fresh, origins)
            self._note_order(fresh, origins)
            self.paged.append(fresh)
            frontier = max(frontier, int(fresh.start[-1] + fresh.length[-1]))
        self.frontier = max(self.frontier, frontier)
        # Rows that are all new and hold each offset once cannot contradict known ones.
        is_confirmed = is_all_new or (is_confirmed and self._confirms(runs, before, self.frontier))
        self.is_contradicted = self.is_contradicted or not is_confirmed

    def _note_unknown(self, start: Int64s, length: Int64s) -> None:
        self.last_unknown = max(self.last_unknown, int(start[-1] + length[-1]) - 1)
        known_start, known_length = self.unknown_ranges
        self.unknown_ranges = np.concatenate((known_start, start)), np.concatenate((known_length, length))

    def _confirms(self, runs: Runs, low: int, high: int) -> bool:
        """Return whether the index, which covers ``[low, high)``, holds the same records as *runs* there."""
        start, end = np.maximum(runs.start, low), np.minimum(runs.end, high)
        asked = (start < end).nonzero()[0]
        if len(asked) == 0:
            return True
        first, last = int(start[asked[0]]), int(end[asked].max()) - 1
        return self.paged.near(first, last).holds(runs.take(asked), start[asked], end[asked])

    def _note_first(self, fresh: Runs, origins: Sequence[int]) -> None:
        """Remember the first run of each origin."""
        for origin in origins:
            if origin not in self._first_runs:
                row = int((fresh.origin == origin).argmax())
                self._first_runs[origin] = fresh.take(np.array([row]))  # a copy, which keeps nothing else alive

    def _note_order(self, fresh: Runs, origins: Sequence[int]) -> None:
        """Count where a record comes below an origin offset already seen, also before positions are requested."""
        for origin in origins:
            mine, reach = fresh.origin == origin, self._reach.get(origin, 0)
            start = fresh.origin_start[mine]
            reach_before = np.maximum.accumulate(np.concatenate(([reach], start + fresh.length[mine])))
            if origin > UNKNOWN_ORIGIN and (start < reach_before[:-1]).any():
                self.reorders += 1
            self._reach[origin] = int(reach_before[-1])

    def let_go(self, pages: Stretches, runs: int, store: PageStore) -> None:
        """Replace the oldest runs in memory by the directory of *pages*; *store* has so many *runs* there."""
        self.paged.let_go(pages, runs, store)
        self._positions.clear()

    def append_pages(self, known: KnownPages, frontier: int, store: PageStore) -> None:
        """Add pages above all that is here without reading their runs; there are no runs in memory.

        What each run would add to the index is taken from *known* for all of them, up to *frontier*.
        """
        for origin in known.pages.spans:
            self.origins.add(origin)
            self.reorders += self._late_pages(known.pages.span(origin), origin)
        self.reorders += known.reorders
        self._first_runs = {**known.first_runs, **self._first_runs}
        if len(known.unknown_start):
            self._note_unknown(known.unknown_start, known.unknown_length)
        self.grew_at_ms = max(self.grew_at_ms, known.grew_at_ms)
        self.indexing_times.extend(known.pages.first_record, known.oldest_ms)
        if known.complete_until_ms:
            self.complete_until_ms = known.complete_until_ms
        if len(known.pages):
            self.paged.let_go(known.pages, known.runs, store)
        self.frontier = max(self.frontier, frontier)

    def _late_pages(self, span: OriginSpans, origin: int) -> int:
        """Return how many pages have a record of *origin* below one in an earlier page."""
        reach = np.maximum.accumulate(np.concatenate(([self._reach.get(origin, 0)], span.high + 1)))
        self._reach[origin] = int(reach[-1])
        return int((span.low < reach[:-1]).sum()) if origin > UNKNOWN_ORIGIN else 0

    @property
    def run_count(self) -> int:
        """How many runs there are, in memory and elsewhere."""
        return self.paged.paged_runs + len(self.paged.tail)

    @property
    def first_record(self) -> int | None:
        """The offset of the first record that is indexed, None where there is none."""
        return min((int(runs.start[0]) for runs in self._first_runs.values()), default=None)

    def reach_of(self, origin: int) -> int:
        """Return the first offset of *origin* above all that are in this log; 0 where none is."""
        return int(self.stretches().span(origin).high.max(initial=-1)) + 1

    def lose(self, copies: Runs) -> None:
        """Note the *copies* that a truncation has removed: unread by every group until the log has them again.

        Their position is NO_LIMIT. A record of unknown identity may be any that this log does not have. Call it before
        positions are requested: a truncated log is loaded again.
        """
        self.lost = self.lost.followed_by(copies)
        self.lost_records += int(copies.length.sum())
        for origin, end in zip(copies.origin.tolist(), (copies.origin_start + copies.length).tolist(), strict=True):
            self._reach[origin] = max(end, self._reach.get(origin, 0))
        if (copies.origin == UNKNOWN_ORIGIN).any():
            self.last_unknown = NO_LIMIT

    def lowest_lost(self, origin: int) -> int:
        """Return the lowest offset of *origin* that was lost; NO_LIMIT: none."""
        return int(self.lost.origin_start[self.lost.origin == origin].min(initial=NO_LIMIT))

    def _lost_positions(self, origin: int) -> OriginPositions:
        """Return the positions of what was lost of *origin*: beyond any that the log may have."""
        mine, found = self.lost.take(np.asarray(self.lost.origin == origin)), OriginPositions()
        found.extend(replace(mine, start=np.full(len(mine), NO_LIMIT)))
        return found

    def positions(self, origin: int, low: int = -NO_LIMIT, high: int = NO_LIMIT) -> OriginPositions:
        """Return where the records ``[low, high)`` of *origin* are in this log, and what is next above them.

        Others may be included. Updated from the runs first; reads the pages that may contribute.
        """
        newest, pages = self._newest_positions(origin), self.paged.pages
        if len(pages) == 0 or len(wanted := meets(pages, origin, low, high)) == 0:
            return newest
        parts = [self.paged.page(number) for number in wanted.tolist()]
        is_above = pages.span(origin).high[wanted].max() >= high
        if not is_above or (len(newest) and newest.start[0] < high and newest.end[-1] > low):
            parts.append(self.paged.tail)
        runs, found = in_log_order(parts), self._lost_positions(origin)
        found.extend(runs.take(np.asarray(runs.origin == origin)))
        return found

    def _newest_positions(self, origin: int) -> OriginPositions:
        known = self._positions.get(origin)
        if known is None:
            known = self._lost_positions(origin), self.paged.tail_begin
        positions, done = known
        if done < self.frontier:
            fresh = self.paged.tail.from_offset(done)
            positions.extend(fresh.take(np.asarray(fresh.origin == origin)))
            self._positions[origin] = (positions, self.frontier)
        return positions

    def view(self) -> LogIndex:
        """Return a snapshot for readers while this one grows; changes to it are its own.

        Costs the update of positions that were requested before, and next to nothing else.
        """
        for origin in self._positions:
            self._newest_positions(origin)
        found = shallow(self)
        found.paged = self.paged.view()
        found._positions = {origin: (known.view(), done) for origin, (known, done) in self._positions.items()}
        found._first_runs, found._reach = dict(self._first_runs), dict(self._reach)
        found.origins, found.indexing_times = set(self.origins), shallow(self.indexing_times)
        found.times = self.times.view() if self.times is not None else None
        return found

    def below(self, offset: int) -> LogIndex:
        """Return the index as if it had been read only up to *offset*; itself if it was.

        For a log that may have other records from there on, used as a target: for the first unread record, and the
        records before it.
        """
        if offset >= self.frontier:
            return self
        found = shallow(self)
        found.paged, found._positions = self.paged.below(offset), {}
        found.begin, found.frontier = min(self.begin, offset), offset
        found._first_runs = {o: runs for o, each in self._first_runs.items() if len(runs := each.below(offset))}
        found.origins = set(found._first_runs)
        found.times = self.times.below(offset) if self.times is not None else None
        return found

    def adopt(self, view: LogIndex) -> None:
        """Keep positions and stretches that a *view* of this log has computed, for the next one."""
        if view.paged.tail_begin == self.paged.tail_begin:
            self.paged.adopt(view.paged)
            for origin, (known, done) in view._positions.items():
                if origin not in self._positions:
                    self._positions[origin] = (known.view(), done)

    def reorder_count(self) -> int:
        """Return how often a record came below an origin offset already seen, or may have: late, again or reordered.

        A hole may have been filled then. When the count rises earlier answers may fall, so a window based on them
        (``Bounds.window_start``) is void.
        """
        return len(self.unknown_ranges[0]) + self.reorders

    def first_runs(self) -> Runs:
        """Return the first run of each origin; a log whose index began late is judged by these."""
        return NO_RUNS.followed_by(*(self._first_runs[origin] for origin in sorted(self._first_runs)))
