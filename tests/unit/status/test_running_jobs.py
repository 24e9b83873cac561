"""Whether a job is at work, by what its drivers have written down."""

from __future__ import annotations

import socket
from datetime import datetime, timezone

from fakes.tables import MemoryTables
from offset_sync.state.claims import Claim, ended, to_rows
from offset_sync.status.running_jobs import RunningJobs
from offset_sync.tables.catalog import DRIVERS

AT = datetime(2026, 3, 1, tzinfo=timezone.utc)
HERE = Claim("sync_offsets", None, 1, "a", socket.gethostname(), 7, AT)
ELSEWHERE = Claim("sync_offsets", None, 2, "b", "another machine", 7, AT)


def said(*claims: Claim, is_alive: bool = True) -> tuple[bool, bool]:
    tables = MemoryTables()
    jobs = RunningJobs(tables, lambda _pid: is_alive)  # type: ignore[arg-type]
    for claim in claims:
        tables.append(DRIVERS, to_rows([claim]))
    return jobs.is_running("sync_offsets"), jobs.has_ended("sync_offsets")


def test_a_driver_runs_until_it_says_that_it_has_ended() -> None:
    assert said() == (False, True)
    assert said(HERE) == (True, False)
    assert said(HERE, *ended([HERE], AT)) == (False, True)
    assert said(HERE, *ended([HERE], AT), ELSEWHERE) == (True, False)


def test_one_whose_process_is_gone_from_this_machine_neither_runs_nor_has_said_that_it_ended() -> None:
    assert said(HERE, is_alive=False) == (False, False)
    assert said(ELSEWHERE, is_alive=False) == (True, False)


def test_what_is_claimed_later_is_seen_by_the_same_reader() -> None:
    tables = MemoryTables()
    jobs = RunningJobs(tables)  # type: ignore[arg-type]
    assert not jobs.is_running("sync_offsets")
    tables.append(DRIVERS, to_rows([ELSEWHERE]))
    assert jobs.is_running("sync_offsets")
    assert not jobs.is_running("index_records")
