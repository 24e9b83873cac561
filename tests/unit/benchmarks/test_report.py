"""docs/benchmarks.md and README.md have the tables of all saved results; and the judge beside MirrorMaker 2."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from offset_sync_demo.load.records import Records

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from mirrormaker_judge import Answers, Commit, JudgedPartition, broken_promises, rows_of
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


sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))


def records(ids: list[int], first: int = 0) -> Records:
    offsets = np.arange(first, first + len(ids), dtype=np.int64)
    return Records(np.array(ids, np.uint64), offsets, np.zeros(len(ids), np.int64))


def commits(*made: tuple[float, int]) -> list[Commit]:
    return [Commit(at_s, offset) for at_s, offset in made]


FOUR = records([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("made", "position", "cost"),
    [
        ([(5.0, 2)], 2, (0, 0, 0.0)),
        ([(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)], 1, (2, 0, 6.0)),
        ([(1.0, 1)], 3, (0, 2, 0.0)),
        ([(1.0, 0), (2.0, 3)], None, (3, 0, 7.0)),
    ],
    ids=[
        "the right one costs nothing",
        "an early one repeats, and is as old as the first commit that it does not cover",
        "a late one loses",
        "without one all is read again",
    ],
)
def test_a_position_costs_what_is_read_again_or_lost(
    made: list[tuple[float, int]], position: int | None, cost: tuple[int, int, float]
) -> None:
    found = JudgedPartition(FOUR, FOUR).cost(commits(*made), position, 9.0)
    assert (found.read_again, found.lost, found.stale_s) == cost


def ids(twin: str) -> dict[str, str]:
    return {f"{kind}-{twin}": kind for kind in ("tail", "middle", "lagging")}


def judged_rows(mm2: int | None, ours: int | None) -> list[dict[str, object]]:
    log = records([1, 2, 3, 4])
    place = ("orders", 0)
    ways = {"MirrorMaker 2": (ids("mm2"), "orders"), "exact": (ids("ours"), "orders")}
    made = {(kind, place): commits((1.0, 2), (8.0, 4)) for kind in ("tail", "middle", "lagging")}
    stood = {
        (group, place): position
        for twin, position in (("mm2", mm2), ("ours", ours))
        for group in ids(twin)
        if position is not None
    }
    rows = rows_of(ways, made, [Answers(0, 5.0, stood)], {place: JudgedPartition(log, log)})
    return [{"run": "default", **row} for row in rows]


@pytest.mark.parametrize(
    ("mm2", "ours", "said"),
    [
        (None, 2, "default: MirrorMaker 2 never committed anything"),
        (2, 3, r"default: exact, group tail, \+0 s: 1 records lost"),
        (2, None, r"default: exact, group tail, \+0 s: no answer"),
    ],
)
def test_a_void_comparison_and_a_broken_promise_are_said(mm2: int | None, ours: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        raise ValueError("\n".join(broken_promises(judged_rows(mm2, ours))))


sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))


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
