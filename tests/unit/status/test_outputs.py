"""Where a report goes, the report as golden files have it, and how names, numbers and durations are written."""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import unicodedata
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from builders.status_rows import NO_DRIFT, status_rows
from fakes.reconciler_site import config_of
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.config import Config
from offset_sync.jobs.report_status import add_arguments, open_outputs
from offset_sync.jobs.runner import job_arguments
from offset_sync.model.reasons import Reason
from offset_sync.status.page import page_content
from offset_sync.status.report import Report
from offset_sync.status.terminal import render_table

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=timezone.utc)
ROWS = [{"group_id": "billing"}, {"group_id": "reports", "status": "Behind", "staleness_ms": 70_000}]
REPORT = Report(status_rows(*({"reported_at": NOW, **row} for row in ROWS)), NO_DRIFT, reported_at=NOW)


def config(folder: Path) -> Config:
    return config_of(["X", "Y"], status={"page": str(folder / "pages" / "status.html")})


def arguments(*words: str) -> argparse.Namespace:
    return add_arguments(job_arguments("report")).parse_args(["--conf", "x", *words])


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
SCHEMA = json.loads((GOLDEN.parents[1] / "docs" / "report.schema.json").read_text())
SHARES = {"origin_share": '{"dc1": 0.999, "dc2": 0.001}'}
SMALL = status_rows(
    {"group_id": "audit", "status": "Withheld", "reason": "TOPIC_MISSING"}
    | dict.fromkeys(("lost", "duplicates", "duplicates_at_most")),
    {"group_id": "billing", "status": "Behind", "reason": Reason.TARGET_BEHIND(3), "duplicates": 3}
    | {"duplicates_at_most": 5, "staleness_ms": 70_000, "source_lag": 1234, "target_offset": 97, **SHARES},
    {"group_id": "billing", "partition": 1, "source_committed_at": NOW, "reported_at": REPORTED_AT},
    *({"group_id": f"quiet-{number}", "listed": 2, "topic": "a\nb"} for number in range(3)),
)
NOTHING = Report([], NO_DRIFT, REPORTED_AT)


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
        text, page = report.to_json(), page_content(report, timedelta(seconds=10))
        assert json.loads(text) == golden[name]["document"]
        assert json.loads(json.dumps(page)) == golden[name]["page"]
        assert list(json.loads(text)) == list(golden["small"]["document"])
        assert (text.isascii(), "\n" in text) == (True, False)
        jsonschema.validate(json.loads(text), SCHEMA)


def test_what_is_piped_is_plain_text_and_hostile_names_bring_no_control_characters() -> None:
    status = random_status(random.Random(11), [*(f"billing-service-{n}" for n in range(30)), *HOSTILE_NAMES])
    text = printed(Report(status, NO_DRIFT, REPORTED_AT), 120, most=1000, details=True)
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    assert "[red]markup[/red]" in re.sub(r"\s", "", text)
