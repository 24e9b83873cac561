"""A driver's hold on its job: taken at once, checked before each write, and lost to the next driver."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from fakes.claims_table import Watched
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.state.lease import FRESH_S, SETTLE_S, FencedTables, Lease, TaskFence
from offset_sync.tables.catalog import DRIVERS, INDEXED_TOPICS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore


class Drivers(Watched):
    """Drivers of one job, each of which may start, look, end or die, also while another one looks or claims."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng, self.is_full, self.wrong = rng, False, False
        self.alive, self.busy, self.last_open = list[Lease](), list[Lease](), dict[Lease, float]()

    def pass_time(self, seconds: float) -> None:
        """Let it pass in small steps, and see that none writes while a former one may, or has a moment ago."""
        while True:
            now = self.seconds[0]
            for lease in self.alive:
                if lease.is_open():
                    self.last_open[lease] = now
                    others = (
                        at for each, at in self.last_open.items() if each is not lease and not is_after(each, lease)
                    )
                    self.wrong |= lease.is_settled and now - max(others, default=0.0) < SETTLE_S - 0.01
            if seconds <= 0:
                return
            super().pass_time(min(0.5, seconds))
            seconds -= 0.5
            if len(self.busy) == 1 and self.rng.random() < 0.2:
                self.act()

    def append(self, table: Table, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        self.pass_time(self.look_s)
        if self.is_full:
            raise OSError("no space left")
        super().append(table, rows, writer)
        self.pass_time(self.look_s)

    def act(self) -> None:
        """Have something happen."""
        free = [each for each in self.alive if each not in self.busy]
        lease = self.rng.choice(free or [self.lease()])
        kind = self.rng.choice([0, 0, 0, 1, 4]) if self.busy else self.rng.choice([0, 0, 1, 2, 3, 4, 4, 5, 5, 5])
        if kind == 0 or not free:
            self.call(lease := self.lease(), lease.claim)
        elif kind == 1:
            self.look_s = self.rng.choice([0.0, 0.9, 0.9, 5.0])
        elif kind == 2:
            self.is_silent, self.is_full = self.rng.choice(
                [(False, False), (False, False), (True, False), (False, True)]
            )
        elif kind == 3:
            self.alive.remove(lease)
            if self.rng.random() < 0.3 and lease._newer is None and lease.is_settled and not self.is_full:
                lease.end()
                del self.last_open[lease]
        elif kind == 4:
            self.call(lease, lease.renew)
        else:
            self.pass_time(self.rng.choice([0.5, 2.0, 4.0, 20.0]))

    def call(self, lease: Lease, call: Callable[[], None]) -> None:
        self.busy.append(lease)
        try:
            call()
            if lease not in self.last_open:
                self.alive.append(lease)
                self.last_open[lease] = 0.0
        except (TableError, TakenOverError, OSError):
            pass
        finally:
            self.busy.remove(lease)


def is_after(one: Lease, other: Lease) -> bool:
    return one._mine[0].epoch > other._mine[0].epoch


def test_no_driver_writes_while_a_former_one_may_and_the_last_one_does() -> None:
    for seed in range(100):
        drivers = Drivers(random.Random(seed))
        for _ in range(40):
            drivers.act()
        drivers.is_silent = drivers.is_full = False
        drivers.look_s = 0.0
        last = drivers.claimed()
        while not last.is_settled:
            drivers.pass_time(5.0)
        last.renew()
        assert (last.is_open(), drivers.wrong) == (True, False), seed
        last.end()
        assert drivers.claimed().is_settled, "one that has ended is not waited for"


def test_what_a_claim_or_a_look_sees_is_as_old_as_its_beginning() -> None:
    tables = Watched()
    append, tables.append = tables.append, lambda *rows: (append(*rows), tables.pass_time(FRESH_S))  # type: ignore[method-assign, assignment]
    lease = tables.claimed()
    assert not lease.is_open()
    tables.look_s = 0.9
    lease.renew()
    tables.pass_time(FRESH_S - 0.8)
    assert not lease.is_open()


def test_a_task_may_write_for_some_seconds_from_its_own_start() -> None:
    seconds = [50.0]
    fence = TaskFence(10.0, lambda: seconds[0])
    seconds[0] += 9.9
    fence.renew()
    assert fence.is_open()
    seconds[0] += 0.2
    assert not fence.is_open()


def test_who_was_taken_over_appends_nothing(tmp_path: Path) -> None:
    root, seconds = str(tmp_path), [0.0]
    TableStore(root).create((DRIVERS, INDEXED_TOPICS))
    first, second = (Lease(TableStore(root), "index_records", threading.Event(), lambda: seconds[0]) for _ in range(2))
    row = {"cluster": "X", "topic": "orders", "topic_id": "id", "partitions": 1, "seen_at": None}
    rows = pa.Table.from_pylist([row], INDEXED_TOPICS.arrow_schema)
    first.claim()
    tables = FencedTables(root, first)
    tables.append(INDEXED_TOPICS, rows)
    second.claim()
    seconds[0] += 60
    with pytest.raises(TakenOverError):
        tables.append(INDEXED_TOPICS, rows)
    assert tables.all_rows(INDEXED_TOPICS).num_rows == 1


# Where a request to the storage takes long


@pytest.mark.parametrize("look_s", [2.2, 4.4])
def test_on_slow_storage_a_driver_writes_and_the_log_says_so(look_s: float, caplog: pytest.LogCaptureFixture) -> None:
    tables = Watched(look_s=look_s)
    lease = tables.claimed()
    tables.pass_time(FRESH_S)
    lease.renew()
    assert lease.is_open()
    assert caplog.messages == [f"slow storage: {look_s:.1f} s to look at drivers"]


def test_on_storage_that_is_too_slow_nothing_is_written() -> None:
    lease = Watched(look_s=FRESH_S).claimed()
    with pytest.raises(TableError, match=r"^slow storage: 6\.0 s to look at drivers, so nothing is written"):
        lease.renew()
    assert not lease.is_open()


def test_a_watched_lease_looks_before_it_ends_so_that_it_is_open_all_the_time() -> None:
    tables = Watched(look_s=1.9)
    lease = tables.claimed()
    lease.renew()
    is_open, looked = list[bool](), threading.Event()

    def seen(known: float) -> bool:
        """Let a second pass, which is how long the watch waits, as fast as it can look."""
        tables.pass_time(known)
        is_open.append(lease.is_open())
        if len(is_open) == 40:
            looked.set()
        return looked.is_set()

    lease._has_ended.wait = seen  # type: ignore[method-assign, assignment]
    before = tables.looks
    lease.watch()
    assert all(is_open)
    assert 5 <= tables.looks - before <= 20
