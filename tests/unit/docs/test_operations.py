"""docs/operations.md: every alert leads to a section that says what to do, every reason to withhold has a row."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from offset_sync.model.values import State

REPO = Path(__file__).resolve().parents[3]
TEXT = (REPO / "docs" / "operations.md").read_text()
RULES = yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]
ALERTS = list(dict.fromkeys(rule["alert"] for rule in RULES))


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


def test_every_reason_to_withhold_has_a_row() -> None:
    table = rows("Withheld, by reason")
    assert {row[0] for row in table} == {state.name for state in State if state.is_withheld}
    assert all(len(row) == 3 and all(row) for row in table)
