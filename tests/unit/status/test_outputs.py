"""Where a report goes, which lines make it unhealthy, and the report as JSON."""

from __future__ import annotations

import argparse
import io
import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from builders.status_rows import status_table
from fakes.reconciler_site import config_of
from generators.reports import REPORTED_AT, random_drift
from offset_sync.config import Config
from offset_sync.jobs.runner import job_arguments
from offset_sync.status.outputs import open_outputs, status_arguments, to_json
from offset_sync.status.page import page_content
from offset_sync.status.report import Report
from offset_sync.status.terminal import render_table
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)


ROWS = [{"group_id": "billing"}, {"group_id": "reports", "status": "Behind", "staleness_ms": 70_000}]
NO_DRIFT = SYNC_DRIFT.arrow_schema.empty_table()
REPORT = Report(status_table(*({"reported_at": NOW, **row} for row in ROWS)), NO_DRIFT, reported_at=NOW)


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


# What one small report looks like: write the golden files anew to change that, and read what has changed

GOLDEN = Path(__file__).parents[2] / "golden"
SHARES = {"origin_share": '{"dc1": 0.999, "dc2": 0.001}', "mirror_lag_by_origin": '{"dc1": 1200, "dc2": 0}'}
SMALL = status_table(
    {"group_id": "audit", "status": "Withheld", "reason": "TOPIC_MISSING"}
    | dict.fromkeys(("lost", "duplicates", "duplicates_at_most")),
    {"group_id": "billing", "status": "Behind", "reason": "the target is 3 records behind", "duplicates": 3}
    | {"duplicates_at_most": 5, "staleness_ms": 70_000, "source_lag": 1234, "target_offset": 97, **SHARES},
    {"group_id": "billing", "partition": 1, "source_committed_at": NOW, "reported_at": REPORTED_AT},
    *({"group_id": f"quiet-{number}", "listed": 2, "topic": "a\nb"} for number in range(3)),
)
NOTHING = Report(SYNC_STATUS.arrow_schema.empty_table(), NO_DRIFT, REPORTED_AT)


@pytest.fixture(scope="module")
def small() -> Report:
    return Report(SMALL, random_drift(random.Random(3), ["billing", "audit"], reports=3), REPORTED_AT)


def printed(report: Report, width: int, **options: Any) -> str:
    out = io.StringIO()
    render_table(report, Console(file=out, width=width), **options)
    return out.getvalue()


def test_the_terminal_shows_what_it_did(small: Report) -> None:
    shown = [printed(small, 80, most=4), printed(small, 160, details=True), printed(NOTHING, 80)]
    assert f"{'=' * 80}\n".join(shown) == (GOLDEN / "report.txt").read_text()


def test_the_document_and_the_page_have_what_they_had(small: Report) -> None:
    golden = json.loads((GOLDEN / "report.json").read_text())
    for name, report in (("small", small), ("nothing", NOTHING)):
        text, page = to_json(report), page_content(report, [], timedelta(seconds=10))
        assert json.loads(text) == golden[name]["document"]
        assert json.loads(json.dumps(page)) == golden[name]["page"]
        assert list(json.loads(text)) == list(golden["small"]["document"])
        assert (text.isascii(), "\n" in text) == (True, False)
