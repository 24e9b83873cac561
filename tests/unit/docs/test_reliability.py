"""The page on reliability names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
PAGE = (REPO / "docs" / "reliability.md").read_text()


def test_every_fault_names_tests_that_there_are() -> None:
    faults = PAGE.partition("\n## Faults\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [^-|][^|]*\| (?!result )[^|]+ \| ([^|]+) \|$", faults, re.MULTILINE)
    named = [re.findall(r"`([^`]+\.py)`", tests) for tests in rows]
    assert len(rows) > 40
    assert all(named)
    assert [name for names in named for name in names if not (REPO / "tests" / name).is_file()] == []


def test_every_test_that_the_design_names_is_there() -> None:
    design = (REPO / "docs" / "design.md").read_text()
    named = re.findall(r"`((?:unit|spark|broker|simulation|browser)/[a-z_/]+\.py)`", design)
    assert len(named) > 15
    assert [name for name in named if not (REPO / "tests" / name).is_file()] == []
