"""README.md shows figures that were measured on its first screen; docs/demo.md shows what the demo prints."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from report_readme import README, comparison_table, with_comparison
from results import load

TEXT = README.read_text()
FIRST_SCREEN = TEXT.partition("\n## ")[0]


def saved(name: str) -> list[dict[str, object]]:
    found = load(name)
    assert found is not None
    return list(found["rows"])


def test_the_table_beside_the_other_tools_is_what_the_benchmarks_have_saved() -> None:
    assert with_comparison(TEXT, saved("accuracy"), saved("mirrormaker")) == TEXT, "out of date: benchmarks/report.py"
    assert comparison_table(saved("accuracy"), saved("mirrormaker")) in FIRST_SCREEN
    assert "(docs/benchmarks.md)" in FIRST_SCREEN
