"""The specification: what must not break, each with the patch that breaks it and the one test or seed that notices.

``make protections`` proves all of them; ``make test`` only takes them out, since it has run the tests as they are. The
lists are ``tests/support/protections/of_*.py``, one for each subject; CONTRIBUTING.md says how to add an entry.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from protections import proof
from protections.entry import Protection

LISTS = sorted(path.stem for path in Path(proof.__file__).parent.glob("of_*.py"))
ALL: tuple[Protection, ...] = tuple(
    each for stem in LISTS for each in importlib.import_module(f"protections.{stem}").PROTECTIONS
)
BY_TEST = tuple(each for each in ALL if isinstance(each.noticed_by, str))
if TWICE := [name for name, times in Counter(each.name for each in ALL).items() if times > 1]:
    raise ValueError(f"more than one protection is called {TWICE[0]!r}")


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
    # Each run is ended by a timeout of its own, long before this one.
    pytest.mark.timeout(3 * proof.TEST_ENDS_WITHIN_S),
]


@pytest.mark.parametrize("protection", ALL, ids=lambda each: each.name)
def test_it_is_noticed_if_a_protection_is_taken_out(
    protection: Protection, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if protection not in BY_TEST:  # a seed runs nowhere else
        proof.passes(protection, tmp_path / "as-it-is")
    record_property("said", proof.noticed(protection, tmp_path / "without"))


@pytest.mark.parametrize("protection", BY_TEST, ids=lambda each: each.name)
def test_what_notices_it_passes_as_it_is(protection: Protection, tmp_path: Path) -> None:
    proof.passes(protection, tmp_path / "as-it-is")


class _Printer:
    """A plugin that prints what was not noticed; with *told* also what was, and by what."""

    def __init__(self, told: bool) -> None:
        self._told = told
        self.proven: set[str] = set()
        self._failed: set[str] = set()

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        """Have pytest print no letter for each."""
        return report.outcome, "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[2].removesuffix("]")
        if report.failed:
            self._failed.add(name)
            print(f"not noticed: {name}: {str(report.longrepr).splitlines()[-1]}", flush=True)
        elif report.passed and report.when == "call" and report.user_properties:
            self.proven.add(name)
            if self._told:
                print(f"{name}: {report.duration:.1f} s: {dict(report.user_properties).get('said')}", flush=True)
        self.proven -= self._failed


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> int:
    """Prove all protections, or those whose names contain what is asked for, and return the exit code."""
    parser = argparse.ArgumentParser(description="Take each protection out, and see that its test fails.")
    parser.add_argument("words", nargs="*", help="only those whose name contains one of these")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--tell", action="store_true", help="print what each is noticed by, too")
    options = parser.parse_args(words)
    chosen = [each for each in ALL if not options.words or any(word in each.name for word in options.words)]
    tests = [(test_it_is_noticed_if_a_protection_is_taken_out, each) for each in chosen]
    tests += [(test_what_notices_it_passes_as_it_is, each) for each in chosen if each in BY_TEST]
    names = [f"{__file__}::{test.__name__}[{each.name}]" for test, each in tests]
    if not chosen:
        parser.error("no protection has such a name")
    workers = min(options.workers, len(chosen)) if options.workers > 1 else 0
    printer, began = _Printer(options.tell), time.monotonic()
    quiet = ("-qq", "--no-header", "--no-summary")
    exit_code = pytest.main([*names, *quiet, "-n", str(workers), "--dist", "worksteal"], plugins=[printer])
    seconds = f"in {time.monotonic() - began:.0f} s"
    if exit_code or len(printer.proven) != len(chosen):
        print(f"{len(chosen)} protections, {len(chosen) - len(printer.proven)} not noticed, {seconds}")
        return 1
    print(f"{len(chosen)} protections, all noticed, {seconds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
