"""docs/benchmarks.md has the tables of all saved results, and the commands that measure them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from report import PAGE, PARTS, with_tables
from results import RESULTS, load

REPO = RESULTS.parent.parent
TEXT = PAGE.read_text()
MAKEFILE = (REPO / "Makefile").read_text()


def programs() -> dict[str, str]:
    """Return the programs that save a result, by its name."""
    texts = {path.name: path.read_text() for path in (REPO / "benchmarks").glob("*.py") if path.name != "results.py"}
    found = {saved: name for name, text in texts.items() for saved in re.findall(r'save\("(\w+)"', text)}
    concluded = {name.removesuffix(".py"): name for name, text in texts.items() if "conclude(" in text}
    return found | {name: program for name, program in concluded.items() if name != "mirrormaker_run"}


def test_the_tables_are_what_the_benchmarks_have_saved() -> None:
    assert with_tables(TEXT, load) == TEXT, "out of date: benchmarks/report.py"


def test_every_result_is_shown_and_every_shown_one_is_measured_by_a_program() -> None:
    shown = {name for part in PARTS.values() for name in part.results}
    assert {path.stem for path in RESULTS.glob("*.json")} <= shown
    assert set(programs()) == shown


def test_a_target_of_make_runs_every_program_that_the_page_names() -> None:
    benches = MAKEFILE.partition("\nbench-accuracy:")[2].partition("\nbench:")[0]
    loop = re.findall(r"for each in ([\w ]+);", benches)
    run = {f"{name}.py" for name in loop[0].split()} | set(re.findall(r"benchmarks/(\w+\.py)", benches))
    assert run - {"report.py"} == set(programs().values())
    table = TEXT.partition("| command |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+\.py)`", table)) == set(programs().values())
