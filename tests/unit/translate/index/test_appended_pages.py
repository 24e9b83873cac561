"""A log of pages that were appended without reading them is the log that was extended by their runs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fakes.pages import KeptPages
from offset_sync.translate.index.indexing_times import IndexingTimes
from offset_sync.translate.index.log_index import KnownPages, LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import NO_RUNS, UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.stretches import NO_PAGES, Stretches, in_a_row

Batch = tuple[int, Runs, int]
"""A page: where it begins, its runs, and where it ends."""
ORIGINS = (0, 1, UNKNOWN_ORIGIN)


def batches(rng: random.Random, begin: int) -> list[Batch]:
    found, at = list[Batch](), begin
    reach = dict.fromkeys(ORIGINS, 0)
    for _ in range(rng.randint(0, 6)):
        first, rows = at, []
        for _ in range(rng.randint(0, 3)):
            origin, length = rng.choice(ORIGINS), rng.randint(1, 3)
            start = at if origin == UNKNOWN_ORIGIN else max(0, reach[origin] + rng.choice((0, 0, 0, 2, -1)))
            rows.append((at, length, origin, start, rng.randint(1, 9)))
            reach[origin] = max(reach[origin], start + length)
            at += length + rng.choice((0, 0, 1))
        at += not rows
        found.append((first, Runs.of(*np.array(rows, np.int64).reshape(-1, 5).T), at))
    return found


def is_disordered(runs: Runs) -> bool:
    """Return whether a record of a known origin is below one that came before it."""
    mine = [runs.take(np.asarray(runs.origin == origin)) for origin in (0, 1)]
    return any(
        (each.origin_start[1:] < np.maximum.accumulate(each.origin_start + each.length)[:-1]).any() for each in mine
    )


def late_pages(pages: list[Runs]) -> int:
    reach, found = {0: 0, 1: 0}, 0
    for page in pages:
        for origin in reach:
            mine = page.take(np.asarray(page.origin == origin))
            found += int(mine.origin_start.min(initial=NO_LIMIT) < reach[origin])
            reach[origin] = int((mine.origin_start + mine.length).max(initial=reach[origin]))
    return found


def known_of(chunk: list[Batch], complete_ms: int) -> KnownPages:
    filled = [(begin, runs.joined(), end) for begin, runs, end in chunk if len(runs)]
    rows = NO_RUNS.followed_by(*(runs for _, runs, _ in filled))
    unjoined = NO_RUNS.followed_by(*(runs for _, runs, _ in chunk))
    unknown = unjoined.take(np.asarray(unjoined.origin == UNKNOWN_ORIGIN))
    return KnownPages(
        in_a_row([Stretches.of(runs, begin, end) for begin, runs, end in filled]) if filled else NO_PAGES,
        len(rows),
        {o: rows.take(np.asarray(rows.origin == o)).take(slice(0, 1)) for o in sorted(set(rows.origin.tolist()))},
        unknown.start,
        unknown.length,
        np.array([runs.indexed_at_ms.min() for _, runs, _ in filled], np.int64),
        int(unjoined.indexed_at_ms.max(initial=0)),
        complete_ms,
        sum(is_disordered(runs) for _, runs, _ in filled),
    )


def facts(log: LogIndex) -> list[object]:
    rows = [column.tolist() for column in (*log.runs.columns, *log.first_runs().columns, *log.unknown_ranges)]
    reaches = [log.reach_of(origin) for origin in (*ORIGINS, 5)]
    first = log.first_record, log.last_unknown, log.grew_at_ms, log.begin, log.frontier
    return [rows, reaches, log.origins, first, log.reorder_count() > 0]


@pytest.mark.parametrize("seed", range(80))
def test_pages_appended_without_their_runs_make_the_same_log(seed: int) -> None:
    rng = random.Random(seed)
    begin = rng.choice((0, 4))
    whole, paged, store, made = LogIndex(begin), LogIndex(begin), KeptPages(), batches(rng, begin)
    store.pages = [runs.joined() for _, runs, _ in made if len(runs)]
    for _, runs, end in made:
        whole.extend(runs, end)
    border, complete_ms = rng.randint(0, len(made)), [rng.choice((0, 5)), rng.choice((0, 7))]
    for chunk, ms in zip((made[:border], made[border:]), complete_ms, strict=True):
        paged.append_pages(known_of(chunk, ms), chunk[-1][2] if chunk else 0, store)
    unknown = [end - 1 for runs in store.pages for end in runs.end[runs.origin == UNKNOWN_ORIGIN].tolist()]
    assert whole.last_unknown == max(unknown, default=-1)
    view = paged.view()
    assert facts(paged) == facts(whole)
    assert paged.complete_until_ms == max(complete_ms)
    assert paged.run_count == sum(map(len, store.pages))
    assert paged.reorders == late_pages(store.pages) + known_of(made, 0).reorders
    times = IndexingTimes()
    starts = np.array([page.start[0] for page in store.pages], np.int64)
    times.extend(starts, np.array([page.indexed_at_ms.min() for page in store.pages], np.int64))
    for start in starts.tolist():
        assert paged.indexing_times.indexed_at_ms(start) == times.indexed_at_ms(start)
    for origin, back in ((0, 1), (0, 0), (1, 1), (1, 0)):
        back = min(back, whole.reach_of(origin))
        row = Runs.of([whole.frontier], [1], [origin], [whole.reach_of(origin) - back], [10])
        for log in (whole, paged):
            reorders = log.reorders
            log.extend(row, 0)
            assert log.reorders == reorders + back
    assert facts(paged) == facts(whole)
    assert view.frontier == (made[-1][2] if made else begin)
