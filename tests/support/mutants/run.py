"""Change one expression of the pure core at a time, and print how many changes the tests notice: ``make mutants``.

The operators are mutmut's. ``tests/mutants/survivors.txt`` names each change that no test notices, with its reason. The
run fails where another one survives, where one that is named there is noticed by now, and below 95 % noticed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from mutants.changes import Mutant, mutants_of
from mutants.loop import Loop

REPO = Path(__file__).resolve().parents[3]
LIB, SURVIVORS = REPO / "lib" / "offset_sync", REPO / "tests" / "mutants" / "survivors.txt"
LEAST = 0.95
_T = "tests/unit/translate/test_"
TESTS = {
    "state/own_writes.py": ["tests/unit/state/test_own_writes.py", "tests/unit/ingest/test_commit_ingester.py"],
    "state/group_homes.py": ["tests/unit/state/test_home.py", "tests/unit/sync/test_translation_history.py"],
    "sync/write_plan.py": ["tests/unit/sync/test_write_plan.py"],
    "decode/*.py": ["tests/unit/decode"],
    "translate/exact.py": [
        _T + name for name in ("exact_laws.py", "exact_cases.py", "cut_targets.py", "strategies.py", "partition.py")
    ],
    "translate/partition*.py": [
        *(_T + name for name in ("partition.py", "reasons_to_withhold.py", "cut_targets.py", "strategies.py")),
    ],
    "translate/read_list.py": [_T + "read_list.py", _T + "read_list_text.py"],
    "translate/index_retention.py": [_T + "index_retention_laws.py"],
    "translate/replication_gap.py": [_T + "replication_gap.py", _T + "read_list.py"],
    "translate/read_window.py": [
        _T + name for name in ("exact_laws.py", "cut_targets.py", "partition.py", "replication_gap.py")
    ],
    "translate/strategies.py": [_T + "strategies.py"],
    "translate/index/time_index.py": ["tests/unit/translate/index/test_time_index.py", _T + "strategies.py"],
    "translate/*.py": [_T + name for name in ("exact_laws.py", "read_heights.py", "cut_targets.py", "partition.py")],
    "translate/index/columns.py": ["tests/unit/translate/index", "tests/unit/state/test_home.py"],
    "translate/index/*.py": [
        "tests/unit/translate/index",
        *(_T + name for name in ("exact_laws.py", "strategies.py", "reasons_to_withhold.py")),
        "tests/unit/state/test_record_index.py",
    ],
}
"""What is changed, below lib/offset_sync, and the tests that are to notice it; the first pattern of a file counts.

Only the tests nearest to it: each is run once, to see what it calls, before the first change."""
_WITHOUT = ("no:randomly", "no:xdist", "no:cacheprovider")
_OPTIONS = ("-q", "--no-header", "--no-summary", "--assert=plain", *(f"-p{plugin}" for plugin in _WITHOUT))


def main(words: Sequence[str] | None = None) -> int:
    """Judge the mutants that the command line *words* ask for; 0 if all is as the file of survivors says."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="only files whose names below lib/offset_sync contain this")
    options = parser.parse_args(words)
    named = read_survivors(SURVIVORS.read_text(encoding="utf-8"))
    tests_of = {path: tests for pattern, tests in reversed(TESTS.items()) for path in sorted(LIB.glob(pattern))}
    tests: dict[str, None] = {}
    mutants: list[Mutant] = []
    for path, its_tests in tests_of.items():
        name = path.relative_to(LIB).as_posix()
        if not options.files or any(word in name for word in options.files):
            tests |= dict.fromkeys(its_tests)
            mutants += mutants_of(".".join(path.relative_to(LIB.parent).with_suffix("").parts), path)
    loop = Loop(mutants, os.cpu_count() or 1)
    if pytest.main([*_OPTIONS, *tests], plugins=[loop]) not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return 1
    survived = {_change(each) for each in loop.survivors}
    noticed = {_change(each) for each in mutants} - survived
    gone = [each for each in named if each in noticed or (not options.files and each not in survived)]
    return _report(mutants, loop.survivors, sorted(survived - named.keys()), gone)


def _change(mutant: Mutant) -> Change:
    _, _, module = mutant.module.partition(".")
    return Change(module.replace(".", "/") + ".py", mutant.function, mutant.change)


def _report(mutants: Sequence[Mutant], survivors: Sequence[Mutant], unnamed: list[Change], gone: list[Change]) -> int:
    """Print the score by file, and what the file of survivors has to say; return the exit code."""
    judged, survived = (Counter(_change(each).file for each in some) for some in (mutants, survivors))
    for file, number in [*judged.items(), ("all", judged.total())]:
        left = survived.total() if file == "all" else survived[file]
        print(f"{file:40} {number:6} mutants {left:5} survive {100 * (number - left) / number:6.1f} %")
    if unnamed:
        print(f"\nSurvive, and are not in {SURVIVORS.relative_to(REPO)}:\n{block(unnamed)}")
    if gone:
        print(f"\nAre in {SURVIVORS.relative_to(REPO)}, and are noticed by now, or no more:\n{block(gone)}")
    is_low = survived.total() > (1 - LEAST) * judged.total()
    return int(bool(unnamed or gone or is_low))


_REASON = "because:"


class Change(NamedTuple):
    """One change, or several that read the same; *file* is below lib/offset_sync."""

    file: str
    function: str
    change: str


def read_survivors(text: str) -> dict[Change, str]:
    """Return the reason of each change; a line ``because:`` counts for the changes above it. Raises ValueError."""
    found: dict[Change, str] = {}
    waiting: list[Change] = []
    file = function = ""
    for line in text.splitlines():
        word = line.strip()
        if word and not line.startswith((" ", "#")):
            _refuse(waiting)
            file, function = word.split(" ")
        elif word.startswith(_REASON):
            found |= dict.fromkeys(waiting, word.removeprefix(_REASON).strip())
            waiting = []
        elif word and not word.startswith("#"):
            waiting.append(Change(file, function, word))
    _refuse([*waiting, *(each for each, reason in found.items() if not reason)])
    return found


def _refuse(changes: Iterable[Change]) -> None:
    if without := block(sorted(changes)):
        raise ValueError(f"without a reason:\n{without}")


def block(changes: Iterable[Change]) -> str:
    """Return *changes* as they are written in the file, without reasons."""
    lines = []
    for (file, function), some in groupby(changes, key=lambda each: each[:2]):
        lines += [f"{file} {function}", *(f"    {each.change}" for each in some)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
