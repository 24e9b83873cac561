"""Pages that list what there is: tables, alerts, reasons, brokers, threads and locks, tests that hold invariants."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from offset_sync.model.reasons import Reason
from offset_sync.model.values import State
from tools.lock_order import LIB
from write_docs import COMMAND, PAGE, with_written_parts

REPO = Path(__file__).resolve().parents[3]
TABLES = PAGE.read_text(encoding="utf-8")
TEXT = (REPO / "docs" / "operations.md").read_text()
RULES = yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
ALERTS = list(dict.fromkeys(rule["alert"] for rule in RULES))


def test_the_page_says_what_the_schemas_and_the_views_say() -> None:
    assert with_written_parts(TABLES) == TABLES, f"docs/tables.md is out of date: {COMMAND}"


def section(title: str) -> str:
    return re.split(r"^#+ ", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_alert_has_a_section_that_says_what_it_means_and_what_to_do() -> None:
    part = TEXT.partition("# Alerts and what to do\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (.*)$", part, re.MULTILINE) == ALERTS
    for title in ALERTS:
        said = re.findall(r"^- \*\*(.+?)\*\*: .{10,}", section(title), re.MULTILINE)
        assert said == ["It means", "Look at", "Do"], title


def test_every_rule_of_an_alert_and_its_cause_lead_to_that_section() -> None:
    for rule in RULES:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (page, anchor) == ("docs/operations.md", rule["alert"].lower())
        cause = rule["labels"].get("cause")
        assert cause is None or f'cause="{cause}"' in section(rule["alert"])


def test_every_reason_to_withhold_has_a_row_with_its_sentence() -> None:
    table = rows("Withheld, by reason")
    told = {state.name: Reason[state.name].sentence for state in State if state.is_withheld}
    assert {row[0]: row[1] for row in table} == told
    assert all(len(row) == 3 and all(row) for row in table)


def test_every_page_and_section_that_the_program_names_is_there() -> None:
    named = set[tuple[str, str]]()
    for path in LIB.parent.rglob("*.py"):
        text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
        named.update(re.findall(r"docs/([\w/-]+\.md)(?:, ([A-Z][\w' ]+\w))?", text))
    assert len(named) > 10
    for page, title in named:
        text = (REPO / "docs" / page).read_text()
        assert not title or re.search(rf"^#+ {title}$", text, re.MULTILINE), f"{page}, {title}"
