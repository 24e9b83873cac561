"""Where a report goes, which lines make it unhealthy, and the report as JSON."""

from __future__ import annotations

import argparse
import io
import json
import logging
import random
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builders.status_rows import status_table
from fakes.reconciler_site import config_of
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.config import Config
from offset_sync.jobs.runner import job_arguments
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.outputs import open_outputs, status_arguments, to_json, unhealthy
from offset_sync.status.report import GROUP, Report, roll_up
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


ROWS = [{"group_id": "billing"}, {"group_id": "reports", "status": "Behind", "staleness_ms": 70_000}]
NO_DRIFT = SYNC_DRIFT.arrow_schema.empty_table()
REPORT = Report(status_table(*({"reported_at": NOW, **row} for row in ROWS)), NO_DRIFT, reported_at=NOW)
CHANCE = random.Random(2)
STATUS = random_status(CHANCE, ["a", "b", *HOSTILE_NAMES], pairs=[("dc1", "dc2"), ("dc2", "dc1")])
DRIFT = random_drift(CHANCE, ["a"], reports=3)
COUNTS = {"partitions", "unknown", "lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "listed"}
LAGS = {"source_lag", "target_lag", "mirror_lag", "mirror_gaps", "staleness_ms", "mirror_lag_ms"}
ROLLED = {"source_cluster", "target_cluster", "status", "reason", "move", "statuses", "drift"} | COUNTS | LAGS


def config(folder: Path) -> Config:
    return config_of(["X", "Y"], status={"page": str(folder / "pages" / "status.html")})


def arguments(*words: str) -> argparse.Namespace:
    return status_arguments(job_arguments("report")).parse_args(["--conf", "x", *words])


def shown(folder: Path, *words: str) -> str:
    out = io.StringIO()
    for output in open_outputs(config(folder), arguments(*words), out):
        output(REPORT)
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
    assert unhealthy(config_of(["X", "Y"], status={"stalled_after": "2m"}), REPORT, arguments()) == []


def test_a_page_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "pages").write_text("a file where a folder should be")
    with caplog.at_level(logging.ERROR):
        assert "billing" in shown(tmp_path, "--once")
    assert "status.page:" in caplog.text


def document(status: pa.Table = STATUS, drift: pa.Table = DRIFT) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(Report(status, drift, REPORTED_AT)))
    return found


def test_the_document_has_the_same_keys_in_every_report() -> None:
    empty = document(SYNC_STATUS.arrow_schema.empty_table(), SYNC_DRIFT.arrow_schema.empty_table())
    full = document()
    assert list(full) == list(empty) == ["reported_at", "healthy", "problems", "notes", "pairs", "groups", "partitions"]
    assert [empty[name] for name in ("healthy", "pairs", "groups", "partitions")] == [False, [], [], []]
    assert {*full["pairs"][0]} == ROLLED | {"topics", "groups"}
    assert {*full["groups"][0]} == ROLLED | {"topics", "group_id"}
    assert {*full["partitions"][0]} == {*SYNC_STATUS.names, "skipped"}
    assert list(full["groups"][0]["statuses"]) == list(STATUS_WORDS)


def test_names_are_exactly_kafkas_and_the_worst_groups_come_first() -> None:
    found = document()
    assert {row["group_id"] for row in found["partitions"]} == {"a", "b", *HOSTILE_NAMES}
    assert [row["group_id"] for row in found["groups"]] == roll_up(STATUS, GROUP)["group_id"].to_pylist()
    assert len(found["partitions"]) == STATUS.num_rows
    row, text = found["partitions"][0], to_json(Report(STATUS, DRIFT, REPORTED_AT))
    assert (row["reported_at"], row["source_committed_at"][-6:]) == ("2026-03-01T03:12:07.000+00:00", "+00:00")
    assert (type(row["origin_share"]["dc1"]), type(row["mirror_lag_by_origin"]["dc1"])) == (float, int)
    assert (found["healthy"], found["problems"][0]["status"]) == (False, "Withheld")
    assert (text.isascii(), "\n" in text) == (True, False)


def test_drift_is_that_of_the_group_and_of_the_pair() -> None:
    found = document()
    newest = {row["group_id"]: row for row in DRIFT.to_pylist() if row["at"] == REPORTED_AT}
    drifts = {(row["source_cluster"], row["group_id"]): row["drift"] for row in found["groups"]}
    assert drifts["dc1", "a"]["drift"] == newest["a"]["drift"]
    assert drifts["dc1", "b"] is None
    assert [row["drift"]["windowed_change"] for row in found["pairs"] if row["source_cluster"] == "dc1"] == [
        newest[None]["windowed_change"]
    ]
