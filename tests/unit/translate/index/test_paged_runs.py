"""A log of which pages were let go, against the same log in memory; and no page is read that cannot matter."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import law
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.paged_runs import PagedRuns, meets
from offset_sync.translate.index.runs import NO_RUNS, UNKNOWN_ORIGIN, Runs

ORIGINS = (0, 1, UNKNOWN_ORIGIN)
seeds = st.integers(0, 2**32)


def grown(rng: random.Random) -> tuple[LogIndex, LogIndex, KeptPages]:
    """Return a log in memory, the same with pages, and these."""
    begin = rng.choice((0, 3))
    whole, paged, pages = LogIndex(begin), LogIndex(begin), KeptPages()
    for _ in range(rng.randint(0, 3)):
        at = whole.frontier + rng.choice((0, 0, 2))
        for number in range(rng.randint(0, 6)):
            origin, length = rng.choice(ORIGINS), rng.randint(1, 3)
            first = at if origin == UNKNOWN_ORIGIN else rng.choice((at, at, rng.randrange(9)))
            row = Runs.of([at], [length], [origin], [first], [number])
            at += length
            for log in (whole, paged):
                log.extend(row, at)
            at += rng.choice((0, 0, 0, 1))
        for log in (whole, paged):
            log.stretches()
            log.extend(NO_RUNS, at)
        let_go_of_all_but(paged, rng.randint(0, 2), rng.randint(1, 3), pages)
    return whole, paged, pages


def records(runs: Runs) -> dict[int, tuple[int, int]]:
    columns = zip(*(each.tolist() for each in (runs.start, runs.length, runs.origin, runs.origin_start)), strict=True)
    return {start + n: (origin, first + n) for start, length, origin, first in columns for n in range(length)}


def rows(runs: Runs) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in runs.columns), strict=True))


def asked(pages: KeptPages, log: PagedRuns) -> list[tuple[int, int]]:
    """Return the first and the last offset of each page that was read since, and forget it."""
    numbers, pages.asked[:] = sorted(set(pages.asked)), []
    return [(int(log.pages.start[n]), int(log.pages.end[n]) - 1) for n in numbers]


@law(150)
@given(seeds)
def test_runs_from_an_offset_on_and_below_it_are_those_of_the_whole_log(seed: int) -> None:
    whole, paged, pages = grown(random.Random(seed))
    assert paged.run_count == sum(map(len, pages.pages)) + len(paged.paged.tail)
    for offset in range(whole.begin - 1, whole.frontier + 2):
        pages.asked.clear()
        assert rows(paged.paged.from_offset(offset)) == rows(whole.runs.from_offset(offset))
        assert all(last >= offset for _, last in asked(pages, paged.paged))
        below = paged.paged.below(offset)
        assert len(asked(pages, paged.paged)) <= 1
        assert rows(below.from_offset(0)) == rows(whole.runs.below(offset))
        left = [origin for origin, _ in records(whole.runs.below(offset)).values()]
        assert below.records_by_origin(0, offset) == {o: left.count(o) for o in ORIGINS if o in left}


@law(150)
@given(seeds)
def test_parts_have_each_record_between_two_offsets_once_and_read_no_other_page(seed: int) -> None:
    rng = random.Random(seed)
    whole, paged, pages = grown(rng)
    low = rng.randint(whole.begin, max(whole.frontier - 1, whole.begin))
    for high in range(low + 1, whole.frontier + 3):
        pages.asked.clear()
        parts = list(paged.paged.parts(low, high))
        assert all(first < high and last >= low for first, last in asked(pages, paged.paged))
        found = [each for part in parts for each in records(part).items()]
        assert len(found) == len(dict(found))
        assert {o: each for o, each in found if o < high} == records(whole.runs.from_offset(low).below(high))
        assert all(start < high for part in parts for start in part.start.tolist())


@law(150)
@given(seeds)
def test_records_and_lowest_offsets_from_somewhere_on_are_counted_without_most_pages(seed: int) -> None:
    whole, paged, pages = grown(random.Random(seed))
    known, ends = records(whole.runs), np.arange(whole.begin, whole.frontier + 2)
    above = [{o: each for o, each in known.items() if o >= end} for end in ends.tolist()]
    assert paged.paged.records_from(ends, paged.frontier).tolist() == list(map(len, above))
    for end, left in zip(ends.tolist(), above, strict=True):
        pages.asked.clear()
        paged.paged.records_from(np.array([end]), paged.frontier)
        counts = {o: sum(each[0] == o for each in left.values()) for o in ORIGINS}
        assert paged.paged.records_by_origin(end, paged.frontier) == {o: n for o, n in counts.items() if n}
        for origin in ORIGINS:
            lowest = min((first for code, first in left.values() if code == origin), default=NO_LIMIT)
            assert paged.paged.lowest_of(origin, end) == lowest
        assert all(first <= end <= last for first, last in asked(pages, paged.paged))


@law(150)
@given(seeds)
def test_pages_that_may_hold_some_records_or_the_next_ones_are_those_whose_span_says_so(seed: int) -> None:
    rng = random.Random(seed)
    whole, paged, _ = grown(rng)
    spans, known = paged.stretches(), records(whole.runs)
    borders = list(zip(spans.start.tolist(), spans.end.tolist(), strict=True))
    assert len(paged.paged.tail) == 0 or borders[-1][1] == paged.frontier
    low = rng.randrange(12)
    high = low + rng.randint(1, 4)
    for origin in ORIGINS:
        held = [[n for o, (code, n) in known.items() if code == origin and begin <= o < end] for begin, end in borders]
        wanted = {n for n, each in enumerate(held) if each and min(each) < high and max(each) >= low}
        wanted |= {
            n
            for n, each in enumerate(held)
            if each
            and max(each) >= high
            and n <= min(m for m, other in enumerate(held) if other and max(other) >= high)
        }
        assert set(meets(spans, origin, low, high).tolist()) == wanted
        span = spans.span(origin)
        assert span.records.tolist() == list(map(len, held))
        assert [n for n, each in zip(span.low.tolist(), held) if each] == [min(each) for each in held if each]
    for number, (begin, end) in enumerate(borders):
        inside = {o: each for o, each in known.items() if begin <= o < end}
        assert spans.first_record[number] == min(inside)
        assert spans.records[number] == len(inside)
        times = [at for start, length, *_, at in rows(whole.runs) if start < end and start + length > begin]
        assert spans.seen_ms[number] == max(times)
