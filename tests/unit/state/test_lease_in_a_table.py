"""Claims on a real Delta table: drivers that start at the same moment, and one that looks while the table is kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from fakes.clock import HandClock
from offset_sync.model.errors import TakenOverError
from offset_sync.state.lease import FencedTables, Lease, UnwrittenTables
from offset_sync.tables.catalog import DRIVERS, INDEXED_TOPICS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

DRIVERS_AT_ONCE = 6


@pytest.fixture
def root(tmp_path: Path) -> str:
    TableStore(str(tmp_path)).create((DRIVERS, INDEXED_TOPICS))
    return str(tmp_path)


def lease(root: str, clock: HandClock, job: str = "sync_offsets") -> Lease:
    """A lease with tables of its own, as in a process of its own."""
    return Lease(TableStore(root), job, threading.Event(), clock)


def is_lost(one: Lease) -> bool:
    try:
        one.renew()
    except TakenOverError:
        return True
    return False


def test_of_drivers_that_start_at_once_each_has_its_own_epoch_and_exactly_one_holds(root: str) -> None:
    clock = HandClock()
    leases = [lease(root, clock) for _ in range(DRIVERS_AT_ONCE)]
    starting = threading.Barrier(DRIVERS_AT_ONCE)

    def claim(one: Lease) -> None:
        starting.wait()
        one.claim()

    with ThreadPoolExecutor(DRIVERS_AT_ONCE) as pool:
        list(pool.map(claim, leases))
    rows = TableStore(root).all_rows(DRIVERS).to_pylist()
    assert sorted(row["epoch"] for row in rows) == list(range(1, DRIVERS_AT_ONCE + 1))
    clock.seconds += 60
    assert [is_lost(one) for one in leases].count(False) == 1


def test_a_look_finds_a_claim_also_after_the_table_was_compacted_and_its_log_cleaned(root: str) -> None:
    clock = HandClock()
    first, second = lease(root, clock), lease(root, clock)
    first.claim()
    maintainer = Maintainer(TableStore(root), timedelta(0))
    maintainer.prepare(DRIVERS)
    maintainer.compact(DRIVERS)
    maintainer.clean_up(DRIVERS)
    clock.seconds += 60
    assert not is_lost(first)
    second.claim()
    maintainer.compact(DRIVERS)
    maintainer.clean_up(DRIVERS)
    clock.seconds += 60
    assert is_lost(first)
    assert not is_lost(second)


def test_who_was_taken_over_appends_nothing_and_a_dry_run_never_does(root: str) -> None:
    clock = HandClock()
    first, second = lease(root, clock, "index_records"), lease(root, clock, "index_records")
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
