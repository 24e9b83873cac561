"""Where a report goes, and which lines make it unhealthy."""

from __future__ import annotations

import argparse
import io
import json
import logging
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.jobs.runner import job_arguments
from offset_sync.status.render.outputs import limits_of, open_outputs, status_arguments, unhealthy
from offset_sync.status.report import Report
from offset_sync.tables.report_tables import SYNC_DRIFT, SYNC_STATUS

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


def row(group_id: str, status: str, **more: object) -> dict[str, object]:
    key = {"source_cluster": "X", "target_cluster": "Y", "group_id": group_id, "topic": "orders", "partition": 0}
    numbers = dict.fromkeys(("duplicates", "lost", "not_mirrored", "staleness_ms", "mirror_lag_ms"), 0)
    offsets = {"source_offset": 5, "target_offset": 5}
    return {"reported_at": NOW, **key, "status": status, **offsets, **numbers, **more}


ROWS = [row("billing", "InSync"), row("reports", "Behind", staleness_ms=70_000)]
REPORT = Report(
    pa.Table.from_pylist(ROWS, SYNC_STATUS.arrow_schema), SYNC_DRIFT.arrow_schema.empty_table(), reported_at=NOW
)


def config(folder: Path) -> Config:
    return config_of(["X", "Y"], status={"page": str(folder / "pages" / "status.html")})


def arguments(*words: str) -> argparse.Namespace:
    return status_arguments(job_arguments("report")).parse_args(["--conf", "x", *words])


def shown(folder: Path, *words: str) -> str:
    out = io.StringIO()
    for output in open_outputs(config(folder), arguments(*words), out):
        output.show(REPORT)
    return out.getvalue()


def test_once_prints_the_table_and_a_running_job_nothing_and_both_write_the_page(tmp_path: Path) -> None:
    assert "billing" in shown(tmp_path, "--once")
    page = tmp_path / "pages" / "status.html"
    assert "billing" in page.read_text()
    page.unlink()
    assert shown(tmp_path) == ""
    assert page.exists()


def test_json_has_the_rows_that_were_asked_for_and_the_page_all_of_them(tmp_path: Path) -> None:
    found = json.loads(shown(tmp_path, "--once", "--format", "json", "--group", "bill.*"))
    assert [each["group_id"] for each in found["groups"]] == ["billing"]
    assert "reports" in (tmp_path / "pages" / "status.html").read_text()


def test_what_is_not_well_is_a_line_each_among_the_rows_asked_for(tmp_path: Path) -> None:
    (line,) = unhealthy(config(tmp_path), REPORT, arguments())
    assert "Behind" in line
    assert unhealthy(config(tmp_path), REPORT, arguments("--group", "billing")) == []
    assert unhealthy(config(tmp_path), REPORT, arguments("--status", "behind")) != []


def test_the_limit_is_the_configured_one(tmp_path: Path) -> None:
    patient = config_of(["X", "Y"], status={"stalled_after": "2m"})
    assert unhealthy(patient, REPORT, arguments()) == []
    assert limits_of(patient).behind.total_seconds() == 120


def test_a_page_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "pages").write_text("a file where a folder should be")
    with caplog.at_level(logging.ERROR):
        assert "billing" in shown(tmp_path, "--once")
    assert "status.page:" in caplog.text
