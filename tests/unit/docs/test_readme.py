"""README.md shows figures that were measured on its first screen; docs/demo.md shows what the demo prints."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from offset_sync_demo.story.report import show_results

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from report_readme import README, comparison_table, with_comparison
from results import load

TEXT = README.read_text()
FIRST_SCREEN = TEXT.partition("\n## ")[0]
DEMO = (README.parent / "docs" / "demo.md").read_text()


def saved(name: str) -> list[dict[str, object]]:
    found = load(name)
    assert found is not None
    return list(found["rows"])


def test_the_table_beside_the_other_tools_is_what_the_benchmarks_have_saved() -> None:
    assert with_comparison(TEXT, saved("accuracy"), saved("mirrormaker")) == TEXT, "out of date: benchmarks/report.py"
    assert comparison_table(saved("accuracy"), saved("mirrormaker")) in FIRST_SCREEN
    assert "(docs/benchmarks.md)" in FIRST_SCREEN


def test_the_demos_table_has_the_columns_that_it_prints() -> None:
    printed = io.StringIO()
    show_results(Console(file=printed, width=100), "Act 1", [])
    heading = next(line for line in printed.getvalue().splitlines() if "predicted" in line)
    shown = re.findall(r"^ *group  .*$", DEMO, re.MULTILINE)
    assert [re.split(r" {2,}", line.strip()) for line in shown] == [re.split(r" {2,}", heading.strip())]
    assert len(re.findall(r"as promised", DEMO)) == 7
    assert "(docs/demo.md)" in TEXT
