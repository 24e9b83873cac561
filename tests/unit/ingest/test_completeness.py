"""Up to when a log is indexed completely: never later than an unread record came to it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import MemoryEnds
from generators.hypothesis_strategies import law
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.log_check import Completeness
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.model.values import TopicPartition

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
EPOCH = datetime(2026, 11, 23, tzinfo=timezone.utc)
NOTHING = CUT_SCHEMA.empty_table()


def at(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


class Look(NamedTuple):
    """A micro-batch was read up to *end*; then the log ended at *log_end*, asked at *second*."""

    end: int
    log_end: int
    second: int
    is_again: bool = False


def looked(known: Completeness, look: Look) -> int | None:
    """Return the second up to which the log is complete, None if that is not said."""
    again = frozenset({ORDERS}) if look.is_again else frozenset[TopicPartition]()
    read = ReadBatch(NOTHING, {ORDERS: 0}, {ORDERS: look.end}, at(look.second), again)
    found = known.of(read, {ORDERS: MemoryEnds(0, look.log_end)}, at(look.second)).get(ORDERS)
    return None if found is None else round((found - EPOCH).total_seconds())


def told(*looks: Look) -> list[int | None]:
    known = Completeness()
    return [looked(known, look) for look in looks]


def test_a_busy_log_is_complete_up_to_when_an_end_was_seen_that_is_reached_since() -> None:
    looks = (Look(10, 12, 1), Look(12, 15, 2), Look(14, 18, 3), Look(17, 19, 4), Look(19, 19, 5), Look(19, 19, 9))
    assert told(*looks) == [None, 1, None, 2, 5, 9], "and where it is quiet, when it was asked"
    assert told(looks[1]) == [None], "a new driver knows nothing"


def test_while_a_backlog_is_read_nothing_is_said_however_much_the_index_grows() -> None:
    backlog = [Look(10 * n, 100 + n, n) for n in range(1, 10)]
    assert told(*backlog, Look(101, 115, 20), Look(115, 115, 30)) == [None] * 9 + [1, 30]


def test_a_log_that_is_shorter_than_it_was_is_not_waited_for_at_its_former_end() -> None:
    assert told(Look(10, 1_000, 1), Look(5, 6, 2, is_again=True), Look(6, 7, 3)) == [None, None, 2]


@law(200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_whatever_came_before_the_moment_that_is_told_is_read(steps: list[tuple[int, int]]) -> None:
    """By the log itself: at each second some records come, and each micro-batch reads some of those that are there."""
    known, log_end, end, came_at = Completeness(), 0, 0, list[int]()
    for second, (come, read) in enumerate(steps):
        end = min(end + read, log_end)
        came_at += [second] * come
        log_end += come
        if (complete_until := looked(known, Look(end, log_end, second + 1))) is not None:
            assert all(came >= complete_until for came in came_at[end:])
