"""A driver's hold on its job: taken at once, checked before each write, and lost to the next driver."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from fakes.claims_table import Watched
from fakes.clock import HandClock
from fakes.tables import MemoryTables
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.state.lease import (
    FRESH_S,
    SETTLE_S,
    FencedTables,
    Lease,
    TaskFence,
    UnwrittenTables,
    held,
)
from offset_sync.tables.catalog import DRIVERS, INDEXED_TOPICS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


def epochs(tables: MemoryTables) -> list[int]:
    return [epoch for (epoch,) in tables.rows(DRIVERS, "epoch")]


def test_the_second_driver_takes_over_and_the_first_finds_out_before_it_writes_again() -> None:
    tables = Watched()
    first = tables.claimed()
    first.renew()
    second = tables.claimed()
    tables.pass_time(FRESH_S)
    assert not first.is_open()
    with pytest.raises(TakenOverError, match=r"^sync_offsets was taken over by process \d+ on .*, since .* UTC; "):
        first.renew()
    assert first.stop.is_set()
    second.renew()
    assert second.is_open()
    assert not second.stop.is_set()


def test_a_look_holds_for_two_seconds_and_no_longer() -> None:
    tables = Watched()
    lease, before = tables.claimed(), tables.looks
    tables.pass_time(FRESH_S * 0.99)
    lease.renew()
    assert (lease.is_open(), tables.looks) == (True, before)
    tables.pass_time(FRESH_S * 0.02)
    assert not lease.is_open()
    lease.renew()
    assert (lease.is_open(), tables.looks) == (True, before + 1)


def test_the_time_that_a_look_takes_is_not_given_to_it() -> None:
    tables = Watched()
    lease = tables.claimed()
    tables.pass_time(FRESH_S)
    seen = tables.version
    tables.version = lambda *given: (tables.pass_time(1.5), seen(*given))[1]  # type: ignore[method-assign, assignment]
    lease.renew()
    tables.pass_time(0.6)
    assert not lease.is_open()


def test_who_cannot_see_the_table_does_not_write_and_goes_on_when_it_can() -> None:
    tables = Watched()
    lease = tables.claimed()
    tables.pass_time(FRESH_S)
    tables.is_silent = True
    with pytest.raises(TableError, match=r"^tables.drivers cannot be read, so nothing is written: no such disk$"):
        lease.renew()
    assert not lease.is_open()
    assert not lease.stop.is_set()
    tables.is_silent = False
    lease.renew()
    assert lease.is_open()


def test_two_cutovers_of_the_same_group_cannot_go_on_side_by_side_and_of_others_they_can() -> None:
    tables = Watched()
    first, other = tables.claimed("cutover", "a", "b"), tables.claimed("cutover", "c")
    tables.pass_time(FRESH_S)
    first.renew()
    tables.claimed("cutover", "b")
    tables.pass_time(FRESH_S)
    other.renew()
    with pytest.raises(TakenOverError, match=r"^cutover of group b was taken over"):
        first.renew()


class Raced(Watched):
    """Tables in which a driver claims between another one's look and its append."""

    race: list[Lease] = []  # noqa: RUF012

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        if self.race:
            self.race.pop().claim()
        super().append(table, rows, writer)


def test_of_two_claims_at_once_each_has_an_epoch_of_its_own_and_the_later_one_holds() -> None:
    tables = Raced()
    fast, slow = tables.lease(), tables.lease()
    tables.race = [fast]
    slow.claim()
    assert epochs(tables) == [1, 2]
    tables.pass_time(FRESH_S)
    slow.renew()
    with pytest.raises(TakenOverError):
        fast.renew()


def test_the_time_that_a_claim_takes_is_not_given_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be stopped between its row and its look at the table; what it saw is as old as the claim."""
    tables = Watched()
    append = tables.append

    def slow(table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        append(table, rows, writer)
        tables.pass_time(FRESH_S)

    monkeypatch.setattr(tables, "append", slow)
    assert not tables.claimed().is_open()


def test_a_driver_that_ended_is_not_waited_for_and_one_that_may_live_is_for_a_moment() -> None:
    tables = Watched()
    first = tables.claimed()
    assert first.is_settled
    second = tables.claimed()
    tables.pass_time(FRESH_S + SETTLE_S - 0.1)
    assert not second.is_settled
    tables.pass_time(0.1)
    assert second.is_settled
    second.end()
    assert tables.claimed().is_settled


def test_who_was_taken_over_does_not_say_that_the_job_has_ended() -> None:
    tables = Watched()
    first, second = tables.claimed(), tables.claimed()
    tables.pass_time(FRESH_S)
    with pytest.raises(TakenOverError):
        first.renew()
    first.end()
    assert epochs(tables) == [1, 2]
    tables.pass_time(SETTLE_S)
    second.end()
    assert epochs(tables) == [1, 2, 2]


@pytest.mark.parametrize("problem", [OSError("a query has ended"), None])
def test_a_job_that_was_taken_over_ends_with_that_whatever_else_it_says(problem: OSError | None) -> None:
    tables = Watched()
    is_watched = []

    def job() -> None:
        with held(tables.lease()) as lease:
            tables.claimed()
            tables.pass_time(FRESH_S)
            is_watched.append(lease.stop.wait(60))
            if problem is not None:
                raise problem

    with pytest.raises(TakenOverError, match="was taken over by process"):
        job()
    assert is_watched == [True]


def test_a_task_may_write_for_some_seconds_from_its_own_start() -> None:
    seconds = [50.0]
    fence = TaskFence(10.0, lambda: seconds[0])
    seconds[0] += 9.9
    fence.renew()
    assert fence.is_open()
    seconds[0] += 0.2
    assert not fence.is_open()


@pytest.fixture
def root(tmp_path: Path) -> str:
    TableStore(str(tmp_path)).create((DRIVERS, INDEXED_TOPICS))
    return str(tmp_path)


def lease_of(root: str, clock: HandClock, job: str = "sync_offsets") -> Lease:
    """A lease with tables of its own, as in a process of its own."""
    return Lease(TableStore(root), job, threading.Event(), clock)


def test_who_was_taken_over_appends_nothing_and_a_dry_run_never_does(root: str) -> None:
    clock = HandClock()
    first, second = lease_of(root, clock, "index_records"), lease_of(root, clock, "index_records")
    row = {"cluster": "X", "topic": "orders", "topic_id": "id", "partitions": 1, "seen_at": None}
    rows = INDEXED_TOPICS.arrow_schema.empty_table().from_pylist([row], INDEXED_TOPICS.arrow_schema)
    first.claim()
    tables = FencedTables(root, first)
    tables.append(INDEXED_TOPICS, rows)
    second.claim()
    clock.seconds += 60
    with pytest.raises(TakenOverError):
        tables.append(INDEXED_TOPICS, rows)
    UnwrittenTables(root).append(INDEXED_TOPICS, rows)
    assert tables.all_rows(INDEXED_TOPICS).num_rows == 1
