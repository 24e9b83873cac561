"""The brute-force translation against consumers that really read, and against answers worked out by hand."""

from __future__ import annotations

import itertools
import random

import pytest

from generators.mirrored_logs import random_cases, random_world
from offset_sync.model.values import State
from oracles.translation import MALFORMED, Case, Log, LogRecord, answers, f_by_offset, readable_from
from tools.thorough import examples

Entry = tuple[str, int] | None


def log(cluster: str, entries: list[Entry], *, frontier: int | None = None, log_start: int = 0) -> Log:
    records = tuple(LogRecord(y, *entry) for y, entry in enumerate(entries) if entry is not None)
    return Log(cluster, records, log_start, len(entries), len(entries) if frontier is None else frontier)


def is_read(case: Case, record: LogRecord, committed: int) -> bool:
    """Whether a group at *committed* has read *record*, by the set of records that it consumed."""
    if record.origin == MALFORMED:
        return False
    if record.origin == case.source_cluster:
        return record.origin_offset < committed
    stands = {(r.origin, r.origin_offset) for r in case.source_records}
    consumed = [r for r in case.source_records if r.offset < committed]
    if (record.origin, record.origin_offset) in stands:
        return (record.origin, record.origin_offset) in {(r.origin, r.origin_offset) for r in consumed}
    later = [r for r in consumed if r.origin == record.origin and r.origin_offset > record.origin_offset]
    if any(r.is_malformed for r in case.source_records if r not in consumed):
        return False  # it may be this one
    return bool(later) and later[0].indexed_at_ms <= case.now_ms - case.hole_grace_ms


def furthest_without_loss(case: Case, committed: int) -> int:
    """The greatest place to start from at which no unread record of the indexed log is skipped."""
    places = range(case.target.frontier + 1)
    unread = [r.offset for r in case.target.indexed if not is_read(case, r, committed)]
    return max(place for place in places if not any(y < place for y in unread))


def assert_agrees_with_consumer(case: Case, commits: range) -> None:
    for committed, answer in zip(commits, answers(case, commits)):
        assert answer.offset == furthest_without_loss(case, committed)
        remaining = [r for r in case.target.indexed if r.offset >= answer.clamped_offset]
        assert answer.duplicates == sum(is_read(case, r, committed) for r in remaining)
        expired = [r for r in case.target.indexed if answer.offset <= r.offset < case.target.log_start]
        assert answer.lost == sum(not is_read(case, r, readable_from(case, committed)) for r in expired)


def small_logs(cluster: str, length: int) -> list[list[Entry]]:
    """All logs of two clusters and a stranger up to *length* offsets: copies, repeats, disorder, holes, echoes."""
    foreign: list[Entry] = [(name, n) for name in "XYZ" if name != cluster for n in range(2)]
    choices = [[None, (MALFORMED, -1), (cluster, offset), *foreign] for offset in range(length)]
    return [list(entries) for entries in itertools.product(*choices)]


def test_on_all_small_logs_the_answer_is_the_furthest_start_that_skips_nothing_unread() -> None:
    sources = random.Random(1).sample(small_logs("X", 3), 100)
    for source, target in itertools.product(sources, small_logs("Y", 2)):
        case = Case("X", log("X", source), log("Y", target))
        assert_agrees_with_consumer(case, range(5))


@pytest.mark.no_cover
def test_on_random_histories_the_answer_is_the_furthest_start_that_skips_nothing_unread() -> None:
    for seed in range(examples(60)):
        rng = random.Random(seed)
        for case in random_cases(random_world(rng), rng):
            assert_agrees_with_consumer(case, range(40))


def test_the_generator_reaches_every_state_and_every_fault() -> None:
    states: set[State] = set()
    has = {"duplicates": 0, "bounds": 0, "lost": 0, "malformed": 0, "disorder": 0}
    for seed in range(30):
        rng = random.Random(seed)
        for case in random_cases(random_world(rng), rng):
            for answer in answers(case, range(case.target.log_end)):
                states.add(answer.state)
                has["duplicates"] += answer.duplicates > 0
                has["bounds"] += answer.duplicates_at_most > answer.duplicates
                has["lost"] += answer.lost > 0
            has["malformed"] += bool(case.target.malformed)
            required = [y for y in f_by_offset(case) if y >= 0]
            has["disorder"] += required != sorted(required)
    assert states == {State.EXACT, State.AT_FRONTIER, State.INDEX_BEHIND}
    assert all(count > 10 for count in has.values()), has
