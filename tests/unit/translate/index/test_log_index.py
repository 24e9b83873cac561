"""An index of a log against the records that it was given, one by one; whatever batches, pages and views it went by."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import given

from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import generators, law
from offset_sync.translate.index.columns import GrowingArray
from offset_sync.translate.index.log_index import KnownPages, LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT, OriginPositions
from offset_sync.translate.index.runs import NO_RUNS, UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.stretches import meets
from offset_sync.translate.index.time_index import TimeIndex

Row = tuple[int, int, int, int, int]
"""(offset, length, origin, origin offset, when it was indexed)"""
Record = tuple[int, int, int]
"""(origin, origin offset, when the run was indexed that it is in)"""
ORIGINS = (0, 1, UNKNOWN_ORIGIN)


def runs_of(rows: Iterable[Row]) -> Runs:
    return Runs.of(*np.array([*rows], np.int64).reshape(-1, 5).T)


def rows_of(runs: Runs) -> list[Row]:
    return list(zip(*(column.tolist() for column in runs.columns), strict=True))


def records_of(runs: Runs) -> dict[int, Record]:
    return {at + n: (origin, first + n, ms) for at, length, origin, first, ms in rows_of(runs) for n in range(length)}


@dataclass
class Known:
    """What a log has to know: records by offset, and those that a truncation has removed."""

    begin: int
    frontier: int
    records: dict[int, Record] = field(default_factory=dict)
    gone: set[tuple[int, int]] = field(default_factory=set)
    late: int = 0
    steps: int = 0
    is_contradicted: bool = False
    grew_at_ms: int = 0

    def extend(self, rows: list[Row], frontier: int) -> None:
        before, reach = self.frontier, {origin: self.reach(origin) for origin in ORIGINS}
        late = set[int]()
        for at, length, origin, first, ms in rows:
            for offset, number in zip(range(at, at + length), range(first, first + length)):
                if offset >= before and offset not in self.records:
                    last = self.records.get(offset - 1, (None, 0, 0))
                    continues = last[:2] == (origin, number - 1)
                    self.records[offset] = origin, number, last[2] if continues else ms
                    late |= {origin} if number < reach[origin] else set()
                    reach[origin] = max(reach[origin], number + 1)
                    self.grew_at_ms = max(self.grew_at_ms, ms)
                self.frontier = max(self.frontier, frontier, offset + 1)
        self.frontier, self.late = max(self.frontier, frontier), self.late + len(late - {UNKNOWN_ORIGIN})
        for at, length, origin, first, _ in rows:
            held = [self.records.get(at + n, (None, 0))[:2] == (origin, first + n) for n in range(length)]
            self.is_contradicted |= not all(held[max(0, self.begin - at) :])

    def reach(self, origin: int) -> int:
        numbers = [number for code, number, _ in self.records.values() if code == origin]
        return max([*numbers, *(number for code, number in self.gone if code == origin)], default=-1) + 1

    def below(self, offset: int) -> Known:
        left = {at: record for at, record in self.records.items() if at < offset}
        return replace(self, begin=min(self.begin, offset), frontier=min(self.frontier, offset), records=left)

    def copy(self) -> Known:
        return replace(self, records=dict(self.records))

    def rows(self) -> list[Row]:
        found = list[Row]()
        for offset, (origin, number, ms) in sorted(self.records.items()):
            at, length, code, first, since = found[-1] if found else (0, 0, None, 0, 0)
            if (offset, origin, number) == (at + length, code, first + length):
                found[-1] = at, length + 1, origin, first, since
            else:
                found.append((offset, 1, origin, number, ms))
        return found


def batch(rng: random.Random, known: Known, ms: int) -> tuple[list[Row], int]:
    """Rows of new records, some of them late; and parts of known ones again, seldom with other records than before."""
    rows, at = list[Row](), known.frontier + rng.choice((0, 0, 1))
    for _ in range(rng.randint(0, 6)):
        last = [(0, 0, 0, 0, 0), *known.rows(), *rows][-1]
        origin, length = rng.choice((last[2], 0, *ORIGINS)), rng.randint(1, 3)
        first = at if origin == UNKNOWN_ORIGIN else rng.choice((last[3] + last[1], rng.randrange(9)))
        rows.append((at, length, origin, first, ms + rng.randint(0, 1)))
        at += length + rng.choice((0, 0, 0, 1))
    for start, length, origin, first, _ in rng.sample([*known.rows(), *rows], min(len(rows), rng.choice((0, 1, 3)))):
        more, number, other, sooner = rng.choice((*[(0, 0, 0, 0)] * 16, *np.eye(4, dtype=int).tolist()))
        start, first, length = start - sooner, first - sooner, length + sooner
        low, high = sorted((rng.randint(0, length), rng.randint(0, length)))
        rows += [(start + low, high - low + more, ORIGINS[ORIGINS.index(origin) - other], first + low + number, ms)] * (
            high > low
        )
    return sorted(rows, key=lambda row: row[0]), at


def positions_are_right(found: OriginPositions, known: Known, origin: int, numbers: range) -> None:
    """A record is at its first offset, a hole at the lowest of all later records; what is lost is nowhere."""
    first: dict[int, tuple[int, int]] = {number: (NO_LIMIT, -1) for code, number in known.gone if code == origin}
    for offset, (code, number, ms) in sorted(known.records.items(), reverse=True):
        first |= {number: (offset, ms)} if code == origin else {}
    columns = zip(found.start.tolist(), found.end.tolist(), found.position.tolist(), strict=True)
    told = {low + n: min(at + n, NO_LIMIT) for low, high, at in columns for n in range(high - low)}
    for number in numbers:
        assert told.get(number) == (first[number][0] if number in first else None)
        later = min((each for n, each in first.items() if n > number), default=None)
        if number not in first and (later is None or later[0] < NO_LIMIT):
            segment = int(np.searchsorted(found.start, number))
            passed = zip(found.next_offset[segment:], found.next_offset_indexed_at_ms[segment:], strict=True)
            assert next(passed, None) == later


def is_right(log: LogIndex, known: Known, rng: random.Random) -> None:
    records, ends = known.records, range(known.begin, known.frontier + 2)
    assert (log.begin, log.frontier, rows_of(log.runs)) == (known.begin, known.frontier, known.rows())
    assert log.first_record == min(records, default=None)
    assert [log.reach_of(origin) for origin in ORIGINS] == [replace(known, gone=set()).reach(o) for o in ORIGINS]
    of_origin = {origin: [at for at, each in records.items() if each[0] == origin] for origin in ORIGINS}
    assert log.origins == {origin for origin, mine in of_origin.items() if mine}
    assert log.first_runs().start.tolist() == [min(of_origin[o]) for o in sorted(ORIGINS) if of_origin[o]]
    above = [{at: each for at, each in records.items() if at >= end} for end in ends]
    assert log.paged.records_from(np.array(ends), log.frontier).tolist() == list(map(len, above))
    for end, left in zip(ends, above, strict=True):
        rest = {at: each for at, each in records.items() if at < end}
        assert records_of(log.paged.from_offset(end)) == left
        assert records_of(log.paged.below(end).from_offset(0)) == records_of(log.runs.below(end)) == rest
        assert log.paged.records_by_origin(end, log.frontier) == Counter(origin for origin, *_ in left.values())
    low, high = sorted(rng.sample(range(known.begin, known.frontier + 3), 2))
    if low < known.frontier:
        parts = [each for part in log.paged.parts(low, high) for each in rows_of(part)]
        assert records_of(runs_of(parts)).items() >= {o: each for o, each in records.items() if low <= o < high}.items()
        assert all(low <= at < high for at, *_ in parts)
    near = records_of(log.paged.near(low, high - 1))
    assert near == {at: each for at, each in records.items() if near and min(near) <= at <= max(near)}
    asked = [at for at in records if low <= at < high]
    assert near.keys() >= {*asked, *sorted(at for at in records if at >= high)[:1]}
    spans = log.stretches()
    for number, (begin, end) in enumerate(zip(spans.start.tolist(), spans.end.tolist(), strict=True)):
        mine = {at: each for at, each in records.items() if begin <= at < end}
        assert (spans.first_record[number], spans.records[number]) == (min(mine), len(mine))
        assert spans.seen_ms[number] == max(ms for *_, ms in mine.values())
        for origin in ORIGINS:
            numbers = [n for code, n, _ in mine.values() if code == origin]
            told = [int(column[number]) for column in spans.span(origin)]
            assert told == [min(numbers, default=NO_LIMIT), max(numbers, default=-1), len(numbers)]
    assert spans.records.sum() == len(records)
    assert len(log.paged.tail) == 0 or spans.end[-1] == log.frontier
    for origin in (0, 1):
        positions_are_right(log.positions(origin), known, origin, range(25))
        window = range(*sorted(rng.sample(range(12), 2)))
        positions_are_right(log.positions(origin, window.start, window.stop), known, origin, window)
        span = spans.span(origin)
        has_more = np.flatnonzero(span.high >= window.stop)[:1].tolist()
        is_met = (span.records > 0) & (span.low < window.stop) & (span.high >= window.start)
        assert meets(spans, origin, window.start, window.stop).tolist() == sorted({*np.flatnonzero(is_met), *has_more})


@law(500)
@given(generators)
def test_a_log_and_its_views_know_what_they_were_given_and_the_first_of_what_came_twice(rng: random.Random) -> None:
    log, known, pages = LogIndex(rng.choice((0, 3))), Known(0, 0), KeptPages()
    known.begin = known.frontier = log.begin
    gone = [(0, rng.randint(1, 2), rng.choice(ORIGINS), rng.randrange(6), 0) for _ in range(rng.choice((0, 0, 2)))]
    log.lose(runs_of(gone[:1]))
    log.lose(runs_of(gone[1:]))
    known.gone = {(origin, first + n) for _, length, origin, first, _ in gone for n in range(length)}
    views = [(log.view(), known.copy())]
    log.times = TimeIndex()
    for step in range(rng.randint(1, 5)):
        log.times.extend(*np.array([[step], [1], [0], [0]]))
        known.steps = step + 1
        rows, frontier = batch(rng, known, 3 * step)
        log.extend(runs_of(rows), frontier)
        known.extend(rows, frontier)
        if rng.random() < 0.5:
            log.positions(rng.choice(ORIGINS))
        log.stretches()
        views.append((log.view(), known.copy()))
        if rng.random() < 0.5:
            views[-1][0].positions(rng.choice(ORIGINS))
        if rng.random() < 0.5:
            let_go_of_all_but(log, rng.randint(1, 3), rng.randint(1, 3), pages)
        if rng.random() < 0.5:
            log.adopt(rng.choice(views)[0])
    for each, wanted in [*views, (log, known)]:
        is_right(each, wanted, rng)
        assert (each.is_contradicted, each.grew_at_ms) == (wanted.is_contradicted, wanted.grew_at_ms)
        assert each.reorder_count() == wanted.late + len(each.unknown_ranges[0])
        assert (0 if each.times is None else len(each.times)) == wanted.steps
        unknown = {at for at, (origin, *_) in wanted.records.items() if origin == UNKNOWN_ORIGIN}
        starts, lengths = each.unknown_ranges
        assert {at + n for at, length in zip(starts, lengths) for n in range(length)} == unknown
        is_lost = any(origin == UNKNOWN_ORIGIN for origin, _ in wanted.gone)
        assert each.last_unknown == (NO_LIMIT if is_lost else max(unknown, default=-1))
        assert each.lost_records == sum(length for _, length, *_ in gone)
        for origin in ORIGINS:
            assert each.lowest_lost(origin) == min((n for o, n in wanted.gone if o == origin), default=NO_LIMIT)
    assert log.run_count == sum(map(len, pages.pages)) + len(log.paged.tail)
    offset = rng.randint(known.begin, known.frontier)
    is_right(log.below(offset), known.below(offset), rng)
    if len(log.paged.pages):
        found = with_pages(log, pages.pages, pages)
        is_right(found, replace(known, gone=set()), rng)
        assert (found.complete_until_ms, found.last_unknown) == (7, max(unknown, default=-1))
        assert found.reorders == late_parts([*pages.pages, log.paged.tail])


def late_parts(parts: list[Runs]) -> int:
    """Two that are known, and one for each origin and page below an earlier page, and for a tail out of order."""
    reach, late = dict.fromkeys((0, 1), 0), 2
    for part in parts:
        for origin, before in reach.items():
            is_late = False
            for number in (number for code, number, _ in records_of(part).values() if code == origin):
                is_late |= number < (reach[origin] if part is parts[-1] else before)
                reach[origin] = max(reach[origin], number + 1)
            late += is_late
    return late


def with_pages(log: LogIndex, parts: list[Runs], store: KeptPages) -> LogIndex:
    """Return *log* as a start finds it: by what is known of its sealed pages, and the runs of the others."""
    runs, known = NO_RUNS.followed_by(*parts), LogIndex(log.begin)
    unknown = runs.take(np.asarray(runs.origin == UNKNOWN_ORIGIN))
    first = {origin: runs.take(np.flatnonzero(runs.origin == origin)[:1]) for origin in set(runs.origin.tolist())}
    oldest_ms, ranges = np.array([part.indexed_at_ms.min() for part in parts]), (unknown.start, unknown.length)
    grew_at_ms = int(runs.indexed_at_ms.max())
    known.append_pages(
        KnownPages(log.paged.pages, len(runs), first, *ranges, oldest_ms, grew_at_ms, 7, 2), log.paged.tail_begin, store
    )
    known.extend(log.paged.tail, log.frontier)
    return known


def test_arrays_that_share_what_they_have_change_alone() -> None:
    begun = np.array([1, 2])
    array = GrowingArray.of(begun)
    array.set_last(3)
    view = array.view()
    view.set_last(7)
    assert array.values.tolist() == [1, 3]
    array.set_last(5)
    assert [each.tolist() for each in (begun, array.values, view.values)] == [[1, 2], [1, 5], [1, 7]]
