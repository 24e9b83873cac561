"""The page on reliability names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
PAGE = (REPO / "docs" / "reliability.md").read_text()


def test_every_fault_names_a_test_that_there_is() -> None:
    rows = re.findall(r"^\| (?!what happens)[^-|][^|]*\| [^|]+ \| `([^`]+)` \|$", PAGE, re.MULTILINE)
    assert len(rows) > 15
    assert [name for name in rows if not (REPO / "tests" / name).is_file()] == []


def test_every_test_that_the_design_names_is_there() -> None:
    design = (REPO / "docs" / "design.md").read_text()
    named = re.findall(r"`((?:unit|spark|broker|simulation|browser)/[a-z_/]+\.py)`", design)
    assert len(named) > 15
    assert [name for name in named if not (REPO / "tests" / name).is_file()] == []
