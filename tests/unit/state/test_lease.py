"""A driver's hold on its job: taken at once, checked before each write, and lost to the next driver."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from fakes.tables import MemoryTables
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.state.lease import FRESH_S, SETTLE_S, Lease, NoLease, TaskFence, held, to_claims
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.definition import Table


@dataclass
class Watched(MemoryTables):
    """Tables that count who looks, and are *silent* when a test wants it."""

    looks: int = 0
    look_s: float = 0.0
    is_silent: bool = False
    seconds: list[float] = field(default_factory=lambda: [1000.0])

    def version(self, table: Table, known: int | None = None) -> int:
        self.looks += 1
        found = super().version(table, known)
        self.pass_time(self.look_s)  # what a look finds may be as old as its beginning
        if self.is_silent:
            raise OSError("no such disk\nat a stack")
        return found

    def lease(self, job: str = "sync_offsets") -> Lease:
        return Lease(self, job, threading.Event(), lambda: self.seconds[0])

    def claimed(self, job: str = "sync_offsets", *groups: str) -> Lease:
        lease = self.lease(job)
        lease.claim(groups)
        return lease

    def pass_time(self, seconds: float) -> None:
        self.seconds[0] += seconds


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


def test_what_was_lost_stays_lost_also_when_the_second_has_ended() -> None:
    tables = Watched()
    first = tables.claimed()
    tables.claimed().end()
    for _ in range(2):
        tables.pass_time(FRESH_S)
        with pytest.raises(TakenOverError):
            first.renew()


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


def test_jobs_do_not_disturb_each_other() -> None:
    tables = Watched()
    leases = [tables.claimed("index_records"), tables.claimed("sync_offsets"), tables.claimed("maintain_tables")]
    tables.pass_time(FRESH_S)
    for lease in leases:
        lease.renew()


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


def test_who_is_overtaken_while_it_claims_never_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, second = Watched(), list[Lease]()
    append = tables.append

    def overtaken(table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        monkeypatch.undo()
        append(table, rows, writer)
        second.append(tables.claimed())

    monkeypatch.setattr(tables, "append", overtaken)
    first = tables.claimed()
    assert not first.is_open()
    with pytest.raises(TakenOverError):
        first.renew()
    second[0].renew()
    assert second[0].is_open()


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
    assert not second.is_settled
    tables.pass_time(FRESH_S + SETTLE_S)
    assert second.is_settled
    second.end()
    assert tables.claimed().is_settled


def test_a_driver_that_has_not_told_what_the_one_before_left_leaves_that_to_the_next() -> None:
    tables = Watched()
    tables.claimed()
    second = tables.claimed()
    second.is_followed_up = False
    second.end()
    third = tables.claimed()
    assert third.may_have_written
    tables.pass_time(FRESH_S + SETTLE_S)
    third.end()
    assert not tables.claimed().may_have_written


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


def test_the_end_of_a_driver_says_that_those_before_it_are_over_too_so_it_is_not_recorded_earlier() -> None:
    tables = Watched()
    tables.claimed()
    tables.claimed().end()
    third = tables.claimed()
    assert not third.is_settled
    assert third.may_have_written


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


def test_a_dry_run_claims_nothing_and_is_never_over() -> None:
    lease = NoLease(threading.Event())
    lease.renew()
    lease.raise_if_lost()
    assert lease.is_open()
    assert lease.is_settled


def test_a_task_may_write_for_some_seconds_from_its_own_start() -> None:
    seconds = [50.0]
    fence = TaskFence(10.0, lambda: seconds[0])
    seconds[0] += 9.9
    fence.renew()
    assert fence.is_open()
    seconds[0] += 0.2
    assert not fence.is_open()


def lengths(tables: Watched) -> list[float]:
    return sorted(claim.length_s for claim in to_claims(tables.all_rows(DRIVERS)))


@pytest.mark.parametrize("look_s", [2.2, 4.4, 8.0, 60.0])
def test_on_slow_storage_a_claim_is_longer_and_its_driver_writes(
    look_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    tables = Watched(look_s=look_s)
    lease = tables.claimed()
    lease.renew()
    assert lease.is_open()
    tables.pass_time(look_s)  # as long as the next look takes
    assert lease.is_open()
    assert lengths(tables) == pytest.approx([4 * look_s])
    assert caplog.messages == [
        f"slow storage: {look_s:.1f} s to look at drivers, so a new driver waits {4 * look_s:.1f} s"
    ]


def test_a_driver_waits_as_long_as_the_one_before_it_said_whatever_it_measures_itself() -> None:
    tables = Watched(look_s=10.0)
    first = tables.claimed()
    tables.look_s = 0.0  # as seen from the machine of the second
    tables.pass_time(40.0)
    first.renew()
    second = tables.claimed()
    tables.pass_time(39.9)
    assert first.is_open()
    assert not second.is_settled
    tables.pass_time(0.2)
    assert not first.is_open()
    assert not second.is_settled  # its requests may be on their way
    tables.pass_time(SETTLE_S)
    assert second.is_settled


def test_a_driver_waits_for_all_that_have_not_ended_and_not_for_the_last_alone() -> None:
    tables = Watched(look_s=10.0)
    first = tables.claimed()
    tables.look_s = 0.0
    tables.pass_time(40.0)
    first.renew()
    tables.claimed()  # killed at once
    third = tables.claimed()
    tables.pass_time(FRESH_S + SETTLE_S)
    assert first.is_open()
    assert not third.is_settled


def test_a_claim_without_a_length_lasts_two_seconds() -> None:
    tables = Watched()
    tables.claimed()
    rows = tables.versions[DRIVERS.name].pop()
    former = rows.set_column(3, "driver_id", pa.array(["0123456789abcdef"]))
    tables.append(DRIVERS, former)
    second = tables.claimed()
    tables.pass_time(FRESH_S + SETTLE_S - 0.1)
    assert not second.is_settled
    tables.pass_time(0.2)
    assert second.is_settled


def test_when_the_storage_becomes_slow_the_claim_gets_longer_and_the_driver_goes_on() -> None:
    tables = Watched()
    first = tables.claimed()
    tables.pass_time(FRESH_S)
    tables.look_s = 5.0
    first.renew()
    assert first.is_open()
    assert lengths(tables) == [FRESH_S, 20.0]
    second = tables.claimed()
    tables.pass_time(19.0)
    assert not second.is_settled
    tables.look_s = 0.0
    tables.pass_time(20.0)
    with pytest.raises(TakenOverError):
        first.renew()


def test_a_claim_made_before_the_greater_length_is_in_the_table_is_seen_before_it_is_used() -> None:
    """The other driver waits by the length that it has read, which is the former one."""
    tables, others = Watched(), list[Lease]()
    first = tables.claimed()
    append = tables.append

    def overtaken(table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        if writer is None and not others:
            tables.look_s = 0.0
            others.append(tables.claimed())
            tables.look_s = 5.0
        append(table, rows, writer)

    tables.append = overtaken  # type: ignore[method-assign, assignment]
    tables.pass_time(FRESH_S)
    tables.look_s = 5.0
    with pytest.raises(TakenOverError):
        first.renew()
    assert not first.is_open()


def test_a_greater_length_that_could_not_be_entered_is_not_used() -> None:
    tables = Watched()
    lease = tables.claimed()
    tables.pass_time(FRESH_S)
    tables.look_s = 5.0

    def full(*_: object) -> None:
        raise OSError("no space left")

    append, tables.append = tables.append, full  # type: ignore[method-assign, assignment]
    for _ in range(2):
        with pytest.raises(TableError, match="no space left"):
            lease.renew()
        assert not lease.is_open()
    assert lengths(tables) == [FRESH_S]
    tables.append = append  # type: ignore[method-assign]
    lease.renew()
    assert lease.is_open()


def test_a_watched_lease_looks_before_it_ends_so_that_it_is_open_all_the_time() -> None:
    tables = Watched(look_s=3.0)
    lease = tables.claimed()
    lease.renew()
    is_open, looked = list[bool](), threading.Event()

    def seen(known: float) -> bool:
        """Let a second pass, which is how long the watch waits, as fast as it can look."""
        is_open.append(lease.is_open())
        tables.pass_time(known)
        if len(is_open) == 40:
            looked.set()
        return looked.is_set()

    lease._has_ended.wait = seen  # type: ignore[method-assign, assignment]
    before = tables.looks
    lease.watch()
    assert all(is_open)
    assert 5 <= tables.looks - before <= 15


def test_a_later_look_that_finds_claims_of_other_jobs_only_gives_nothing_back() -> None:
    """One thread has seen the newer claim, and the watch looks once more."""
    tables = Watched()
    first = tables.claimed()
    tables.claimed()
    tables.pass_time(FRESH_S)
    with pytest.raises(TakenOverError):
        first.renew()
    tables.claimed("index_records")
    tables.pass_time(FRESH_S)
    first.stop.clear()
    first._has_ended.wait = lambda _seconds: False  # type: ignore[method-assign, assignment]
    first.watch()
    assert first.stop.is_set()
    assert not first.is_open()
