"""docs/operations.md: whoever is woken by an alert, or finds a group withheld, finds a row that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from offset_sync.model.values import State

REPO = Path(__file__).resolve().parents[3]
TEXT = (REPO / "docs" / "operations.md").read_text()
RULES = yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"][0]["rules"]


def rows(title: str) -> list[list[str]]:
    """Return the cells of the table under a title, row by row."""
    section = re.split(r"^#+ ", TEXT.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_alert_has_a_row_that_says_what_to_do() -> None:
    table = rows("Alerts and what to do")
    assert [row[0] for row in table] == list(dict.fromkeys(rule["alert"] for rule in RULES))
    assert all(len(row) == 4 and all(row) for row in table)


def test_every_reason_to_withhold_has_a_row() -> None:
    table = rows("Withheld, by reason")
    assert {row[0] for row in table} == {state.name for state in State if state.is_withheld}
    assert all(len(row) == 3 and all(row) for row in table)
