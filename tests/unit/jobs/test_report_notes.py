"""What a report says where there is nothing to report on, and of clusters that do not answer."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from builders.status_rows import status_table
from fakes.reconciler_site import config_of
from offset_sync.jobs.report_status import StatusJob
from offset_sync.model.errors import ClusterError
from offset_sync.status.report import Report
from offset_sync.tables.catalog import DRIVERS, REPORT_TABLES
from offset_sync.tables.store import TableStore

AT = datetime(2026, 11, 27, tzinfo=timezone.utc)
ONE_ROW = status_table({"reported_at": AT, "source_offset": 5, "target_offset": 5})


def notes(folder: Path, *jobs: str, status: pa.Table | None = None, silent: tuple[ClusterError, ...] = ()) -> list[str]:
    """Return the notes of a report where these jobs have run."""
    tables = TableStore(str(folder / "tables"))
    tables.create([*REPORT_TABLES, DRIVERS])
    rows = [{"job": job, "epoch": 1, "driver_id": job, "host": "h", "pid": 1, "claimed_at": AT} for job in jobs]
    if rows:
        tables.append(DRIVERS, pa.Table.from_pylist(rows, DRIVERS.arrow_schema))
    state: Any = SimpleNamespace(
        report=lambda _: status if status is not None else status_table(),
        tables=tables,
        silent=silent,
        state=SimpleNamespace(clocks_ahead_ms=dict),
    )
    shown: list[Report] = []
    config = config_of(["X", "Y"], tables={"root": str(folder / "tables"), "checkpoints": str(folder / "checkpoints")})
    StatusJob(config, state, threading.Event(), [shown.append]).run_once()
    return [*shown[0].notes]


@pytest.mark.parametrize(
    ("jobs", "status", "named"),
    [
        ((), None, ["sync_offsets", "index_records"]),
        (("index_records",), None, ["sync_offsets"]),
        (("index_records", "sync_offsets"), None, []),
        ((), ONE_ROW, []),
    ],
)
def test_where_nothing_is_reported_the_jobs_that_have_never_run_are_named_with_the_place(
    tmp_path: Path, jobs: tuple[str, ...], status: pa.Table | None, named: list[str]
) -> None:
    root = tmp_path / "tables"
    assert notes(tmp_path, *jobs, status=status) == [
        f"{job} has never run with tables.root {root}: start it, or correct tables.root" for job in named
    ]
    silent = (ClusterError("dc2", "no answer"),)
    assert notes(tmp_path, status=ONE_ROW, silent=silent) == ["clusters.dc2: no answer"]
