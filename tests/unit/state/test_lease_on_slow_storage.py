"""How long a claim lasts: it follows the storage, and another driver waits as long."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from fakes.claims_table import Watched
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.state.lease import FRESH_S, SETTLE_S, Lease, to_claims
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.definition import Table


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
