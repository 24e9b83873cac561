"""docs/operations.md: what it tells to type and to look at is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from offset_sync.jobs.runner import job_arguments
from offset_sync.model.values import State
from offset_sync.tables.report_tables import ALL_TABLES
from spark_options import split_options
from submit import IN_IMAGE

REPO = Path(__file__).resolve().parents[3]
TEXT = (REPO / "docs" / "operations.md").read_text()
# Jobs and their options as agreed with the parts that bring them; those that are here are asked themselves.
JOBS = {
    "index_records": {"--once", "--conf"},
    "sync_offsets": {"--once", "--conf", "--dry-run"},
    "report_status": {"--once", "--conf", "--format"},
    "maintain_tables": {"--once", "--conf"},
    "cutover": {"--conf", "--from", "--to", "--groups", "--planned", "--disaster"},
}
ALERTS = "Down Stale ReconcileOld Withheld Failed Quarantine IndexBehind DriftNotConverged Lost LogStalled"


def commands() -> list[list[str]]:
    """Return the words of every command for spark-submit.sh, with the lines that belong to it joined."""
    joined = TEXT.replace("\\\n", " ")
    found = re.findall(r"(?:\./spark-submit\.sh|`(?=sync_offsets --))\s*(\w+[^\n`;#]*)", joined)
    return [shlex.split(line) for line in found]


def section(title: str) -> str:
    return re.split(r"^#+ ", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words)[:60])
def test_a_command_names_a_job_and_options_that_exist(words: list[str]) -> None:
    job, options = words[0], split_options(words[1:])
    assert {word for word in options.job if word.startswith("--")} <= JOBS[job]
    for name, value in options.spark:
        if name == "--properties-file" and value:
            assert (REPO / value).is_file()
    if job == "cutover":
        assert options.job[0] in ("plan", "apply", "verify")
        assert options.job[0] != "apply" or {"--planned", "--disaster"} & set(options.job)


def test_the_first_page_has_the_five_questions_in_their_order() -> None:
    first_page = TEXT.partition("\n---\n")[0]
    titles = re.findall(r"^## \d\. (.*)$", first_page, re.MULTILINE)
    assert [title.split()[0] for title in titles] == ["Is", "May", "Move", "Move", "Come"]
    assert len(first_page.splitlines()) < 80


def test_every_alert_has_a_section_that_says_what_it_means_and_what_to_do() -> None:
    part = TEXT.partition("# Alerts and what to do\n")[2].partition("\n## ")[0]
    titles = re.findall(r"^### (.*)$", part, re.MULTILINE)
    assert titles == [f"OffsetSync{name}" for name in ALERTS.split()]
    for title in titles:
        said = re.findall(r"^- \*\*(.+?)\*\*: .{10,}", section(title), re.MULTILINE)
        assert said == ["It means", "Look at", "Do"], title


def test_every_rule_of_an_alert_and_its_cause_lead_to_that_section() -> None:
    rules = yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == {f"OffsetSync{name}" for name in ALERTS.split()}
    for rule in rules:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (page, anchor) == ("docs/operations.md", rule["alert"].lower())
        cause = rule["labels"].get("cause")
        if [each["alert"] for each in rules].count(rule["alert"]) > 2:
            assert f"`{cause}`" in section(rule["alert"])


def test_every_reason_to_withhold_has_a_row() -> None:
    assert {row[0] for row in rows("Withheld, by reason")} == {state.value for state in State if state.is_withheld}


def test_columns_and_tables_that_are_named_exist() -> None:
    columns = {name for table in ALL_TABLES for name in table.names}
    named = ["staleness_ms", "not_mirrored", "mirror_lag_by_origin", "reason", "error", "outcome"]
    assert [name for name in named if name not in columns or f"`{name}" not in TEXT] == []
    tables = {table.name for table in ALL_TABLES}
    assert {"offset_translations", "quarantine", "record_runs"} <= tables


def test_links_lead_to_titles_and_paths_to_files() -> None:
    titles = [line.lstrip("# ") for line in TEXT.splitlines() if line.startswith("#")]
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors
    for path in re.findall(r"(?<![\w/])(?:conf|scripts|docs)/[\w./-]+\w", TEXT):
        assert (REPO / path).exists() or path == "conf/prometheus", path
    assert f"{IN_IMAGE}/spark/jars/" in TEXT
    assert all(each in (REPO / "Makefile").read_text() for each in re.findall(r"make ([a-z]+)\b(?= |`)", TEXT))


def test_the_log_switch_is_the_one_there_is() -> None:
    assert "--log-format" in TEXT
    assert job_arguments("x").parse_args(["--conf", "x", "--log-format", "json"]).log_format == "json"
