"""Run all groups of tests, whatever becomes of each, and count what failed. Standard library only.

Each group is a pytest run of its own: tests/spark and tests/broker start their JVM with other options. What waits for
brokers most of the time runs beside what computes, and each line says of which lane it is. The last line is ``tests: 12
passed, 0 failed, 1 skipped``; the exit code is 1 where something failed. A group that ends without saying how its tests
went counts as one failure. What failed is printed again before the last line, so that the end of a long log is enough
to know it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
# Files are given to the workers in the order of tests/conftest.py, the long ones first.
_BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
# That their tests pass as they are is seen in the other groups.
_TAKEN_OUT = "tests/protections.py::test_it_is_noticed_if_a_protection_is_taken_out"
LANES: Mapping[str, Sequence[Sequence[str]]] = {
    "no broker": (
        ("tests/unit", "tests/browser", "--dist", "loadgroup"),
        ("tests/spark", "--dist", "loadgroup"),
        ("tests/simulation", "tests/search", _TAKEN_OUT, "--dist", "worksteal"),
    ),
    "broker": (("tests/broker", *_BY_FILE),),
}
# Brokers are waited for with deadlines; what only computes takes the processor that they leave.
_GIVES_WAY = {"no broker": ("nice", "-n", "3")}
OPTIONS: Sequence[str] = (
    "--durations=10",
    "--durations-min=5",
    # A worker that crashes ends its group, as failed: with another in its place the last tests are never given out.
    "--max-worker-restart=0",
)
_LINES_OF_A_FAILURE = 30
_NO_TESTS_COLLECTED = 5  # pytest's exit code, where -k chose none of a group


@dataclass(frozen=True)
class Count:
    """So many tests ended so."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = field(default=(), compare=False)  # each test that failed, and what it said

    def __add__(self, other: Count) -> Count:
        """Return the sum of both."""
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        """Return the closing line."""
        return f"tests: {self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> int:
    """Run all groups, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run all tests and count what failed.")
    parser.add_argument("--workers", metavar="N", help="how many run side by side in each lane; 1: one lane at a time")
    known, chosen = parser.parse_known_args(words)
    os.chdir(REPO)
    options = ["-n", known.workers, *OPTIONS, *chosen] if known.workers else [*OPTIONS, *chosen]
    with ThreadPoolExecutor(1 if known.workers == "1" else len(LANES)) as pool:
        counts = pool.map(lambda lane: run_lane(lane, options), LANES)
        total = sum(counts, Count())
    for failure in total.failures:
        print(f"== failed: {failure}\n")
    print(total, flush=True)
    return 1 if total.failed else 0


def run_lane(lane: str, options: Sequence[str]) -> Count:
    """Run the groups of *lane*, one after the other, and return how their tests went."""
    return sum((run_group(lane, [*group, *options]) for group in LANES[lane]), Count())


def run_group(lane: str, words: Sequence[str]) -> Count:
    """Run pytest with *words*, print its lines as those of *lane*, and return how its tests went."""
    tell = partial(_tell, lane)
    tell(f"== {shlex.join(words)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = [*_GIVES_WAY.get(lane, ()), sys.executable, "-u", "-m", "pytest", *words, f"--junitxml={report}"]
        # Without its bytecode hundreds of processes would each compile the package again.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            for line in process.stdout or ():
                tell(line.rstrip("\n"))
        count = counted(report, process.returncode)
    tell(f"== {count} in {time.monotonic() - began:.0f} s")
    return count


def _tell(lane: str, line: str) -> None:
    print(f"{lane:<11} | {line}", flush=True)


def counted(report: Path, exit_code: int) -> Count:
    """Return what pytest's *report* on *group* says; one failure where it or *exit_code* tells of a run gone wrong."""
    try:
        suites = list(ET.parse(report).getroot().iter("testsuite"))
    except (FileNotFoundError, ET.ParseError):
        return Count(0, 1, 0, (f"a group of tests, which ended with {exit_code} and no report",))

    def sum_of(*names: str) -> int:
        return sum(int(suite.get(name, 0)) for suite in suites for name in names)

    failed, skipped = sum_of("failures", "errors"), sum_of("skipped")
    passed = max(0, sum_of("tests") - failed - skipped)
    if exit_code not in (0, _NO_TESTS_COLLECTED):
        failed = max(1, failed)
    return Count(passed, failed, skipped, tuple(_failures(suites)))


def _failures(suites: Sequence[ET.Element]) -> Iterator[str]:
    for test in (test for suite in suites for test in suite.iter("testcase")):
        for word in (*test.iter("failure"), *test.iter("error")):
            said = (word.text or word.get("message") or "").splitlines()[-_LINES_OF_A_FAILURE:]
            yield "\n  ".join((f"{test.get('classname')}::{test.get('name')}", *said))


if __name__ == "__main__":
    sys.exit(main())
