"""Notes of a report on drivers and clusters; and two passes of maintain_tables, of which the newer goes on."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.status_rows import status_rows
from fakes.reconciler_site import config_of
from offset_sync.jobs.maintain_tables import MaintainJob
from offset_sync.jobs.report_status import StatusJob
from offset_sync.model.errors import ClusterError, TakenOverError
from offset_sync.model.reasons import Reason
from offset_sync.state.lease import FRESH_S, Lease
from offset_sync.status.report import Report
from offset_sync.tables.catalog import REPORT_TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

AT = datetime(2026, 11, 27, tzinfo=timezone.utc)
ONE_ROW = status_rows({"reported_at": AT, "source_offset": 5, "target_offset": 5})


def notes(folder: Path, *, is_alive: bool, silent: tuple[ClusterError, ...] = ()) -> list[str]:
    """Return the notes of a report with a living driver, or without."""
    tables = TableStore(str(folder / "tables"))
    tables.create([*REPORT_TABLES])
    state: Any = SimpleNamespace(
        published=lambda _: ONE_ROW, tables=tables, silent=silent, is_decided_here=not is_alive
    )
    shown: list[Report] = []
    config = config_of(["X", "Y"], tables={"root": str(folder / "tables"), "checkpoints": str(folder / "checkpoints")})
    job = StatusJob(config, state, threading.Event(), [shown.append])
    job.show(job.make())
    return [*shown[0].notes]


def test_a_report_says_that_no_driver_is_alive_and_who_is_silent(tmp_path: Path) -> None:
    assert notes(tmp_path, is_alive=True) == []
    assert notes(tmp_path, is_alive=False, silent=(ClusterError("dc2", "no answer"),)) == [
        Reason.DECIDED_HERE(),
        "clusters.dc2: no answer",
    ]


def test_a_pass_ends_before_its_next_table_when_another_one_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(["X", "Y"], tables={"root": str(tmp_path / "t"), "checkpoints": str(tmp_path / "c")})
    job, maintained, other = MaintainJob(config, TableStore.of(config), threading.Event()), list[str](), list[Lease]()

    def maintain(table: Table, _lease: Lease) -> list[str]:
        maintained.append(table.name)
        if len(maintained) == 2:
            other.append(Lease(job._tables, "maintain_tables", threading.Event()))
            other[0].claim()
            time.sleep(FRESH_S)
        return []

    patched: Any = maintain
    monkeypatch.setattr(job, "_maintain", patched)
    with pytest.raises(TakenOverError, match=r"^maintain_tables was taken over"):
        job.run()
    assert len(maintained) == 2
    other[0].renew()
    other[0].end()
    assert job.run() == []  # its next pass is its own
    assert len(maintained) > 5
