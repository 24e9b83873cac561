"""docs/benchmarks.md and README.md have the tables of all saved results; and the judge beside MirrorMaker 2."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from report import PAGE, PARTS, with_tables
from report_readme import README, comparison_table, with_comparison
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


def test_every_result_and_every_shown_one_is_measured_by_a_program() -> None:
    shown = {name for part in PARTS.values() for name in part.results}
    assert {path.stem for path in RESULTS.glob("*.json")} == set(programs())
    assert shown <= set(programs())


def test_a_target_of_make_runs_every_program_that_the_page_names() -> None:
    benches = MAKEFILE.partition("\nbench-accuracy:")[2].partition("\nbench:")[0]
    loop = re.findall(r"for each in ([\w ]+);", benches)
    run = {f"{name}.py" for name in loop[0].split()} | set(re.findall(r"benchmarks/(\w+\.py)", benches))
    assert run - {"report.py"} == set(programs().values())
    table = TEXT.partition("| command |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+\.py)`", table)) == set(programs().values())


OF_README = README.read_text()
FIRST_SCREEN = OF_README.partition("\n## ")[0]


def saved(name: str) -> list[dict[str, object]]:
    found = load(name)
    assert found is not None
    return list(found["rows"])


def test_the_table_beside_the_other_tools_is_what_the_benchmarks_have_saved() -> None:
    assert with_comparison(OF_README, saved("accuracy"), saved("mirrormaker")) == OF_README, (
        "out of date: benchmarks/report.py"
    )
    assert comparison_table(saved("accuracy"), saved("mirrormaker")) in FIRST_SCREEN
    assert "(docs/benchmarks.md)" in FIRST_SCREEN
