"""A view of a log stays as it was while the log grows, and its answers are those of the log as it was."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import law
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionLog

ORIGINS = (0, 1, 2, UNKNOWN_ORIGIN)


def grow(index: LogIndex, rng: random.Random, pages: KeptPages) -> None:
    """Add some runs, in order and out of it, that may continue what is there; and let go of some."""
    at = index.frontier
    for _ in range(rng.randrange(1, 4)):
        origin, length = rng.choice(ORIGINS), rng.randrange(1, 4)
        reach = index.reach_of(origin)
        first = at if origin == 0 else max(0, reach + rng.choice([0, 0, 0, 0, 2, -3]))
        at += rng.randrange(2)
        index.extend(Runs.of([at], [length], [origin], [first], [at]), at + length)
        if index.times is not None:
            index.times.extend(*(np.array([each], np.int64) for each in (at, length, at, at)))
        at += length
    size = len(index.paged.tail)
    if size > 5 and rng.random() < 0.3:
        let_go_of_all_but(index, size - 2 * rng.randrange(1, 3), 2, pages)


def facts(index: LogIndex) -> tuple[object, ...]:
    """Return what can be asked of a log."""
    positions = [index.positions(origin) for origin in ORIGINS]
    spans = index.stretches()
    return (
        [column.tolist() for column in index.runs.columns],
        [[c.tolist() for c in (p.start, p.end, p.position, p.next_offset)] for p in positions],
        [column.tolist() for column in spans.columns],
        {origin: span.high.tolist() for origin, span in spans.spans.items()},
        (index.begin, index.frontier, index.last_unknown, index.reorder_count(), index.run_count),
        sorted(index.origins),
        [column.tolist() for column in index.unknown_ranges],
        index.first_runs().start.tolist(),
        None if index.times is None else (index.times.start.tolist(), index.times.greatest_to.tolist()),
        index.indexing_times.first_since(0),
    )


def answers(source: LogIndex, target: LogIndex) -> list[int]:
    """Return where groups go on that have committed anything at the *source*."""
    commits = np.arange(source.frontier + 2)
    return translate(commits, PartitionLog(source, 0), PartitionLog(target, 1), Bounds(1 << 60)).offset.tolist()


@law(200)
@given(st.randoms(use_true_random=False), st.sampled_from(["views", "logs"]))
def test_a_view_stays_as_it_was_whatever_the_log_gets(rng: random.Random, asked: str) -> None:
    source, target, pages = LogIndex(), LogIndex(), (KeptPages(), KeptPages())
    source.times = TimeIndex()
    views, wanted = [], []
    for _ in range(6):
        grow(source, rng, pages[0])
        grow(target, rng, pages[1])
        if rng.random() < 0.5:
            source.positions(rng.choice(ORIGINS))
        views.append((source.view(), target.view()))
        if asked == "views":
            copies = source.view(), target.view()
            wanted.append((facts(copies[0]), facts(copies[1]), answers(*copies)))
        else:
            wanted.append((facts(source), facts(target), answers(source, target)))
        if rng.random() < 0.5:
            source.adopt(views[rng.randrange(len(views))][0])
    found = [(facts(here), facts(there), answers(here, there)) for here, there in views]
    assert found == wanted


def test_positions_that_a_view_has_made_are_the_logs_unless_it_has_let_go_of_what_they_are_of() -> None:
    log, pages = LogIndex(), KeptPages()
    log.extend(Runs.of([0, 1, 2, 3], [1] * 4, [1, 0] * 2, [0, 1, 2, 3], [0] * 4), 4)
    early, late = log.view(), log.view()
    early.positions(1)
    log.adopt(early)
    assert log._positions[1][0].start.tolist() == [0, 2]
    let_go_of_all_but(log, 2, 2, pages)
    late.positions(1)
    log.adopt(late)
    assert 1 not in log._positions
    assert log.positions(1).start.tolist() == [0, 2]


def test_what_was_known_of_stretches_is_void_when_pages_are_let_go() -> None:
    log = LogIndex()
    log.extend(Runs.of(np.arange(6), np.ones(6), [0, 1] * 3, np.arange(6), np.zeros(6)), 6)
    view = log.view()
    ends = [view.stretches().end.tolist()]
    log.adopt(view)
    let_go_of_all_but(log, 2, 2, KeptPages())
    log.adopt(view)
    assert [*ends, log.stretches().end.tolist(), view.stretches().end.tolist()] == [[6], [2, 4, 6], [6]]
