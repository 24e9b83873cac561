"""All groups of tests run, and what failed in all is counted and said in the last line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import run_tests
from run_tests import FAILED, Count, counted, covered, main, run_group

ONE_OF_EACH = """
import pytest
def test_passes(): pass
def test_fails(): assert False
@pytest.mark.skip
def test_is_skipped(): pass
@pytest.fixture
def broken(): raise OSError
def test_cannot_begin(broken): pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, in which pytest is run."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(run_tests, "REPO", tmp_path)
    return tmp_path


def test_tests_are_counted_by_how_they_went(folder: Path) -> None:
    (folder / "test_all.py").write_text(ONE_OF_EACH)
    assert run_group("here", ["test_all.py"]) == Count(passed=1, failed=2, skipped=1)


def test_a_group_that_ends_without_a_word_is_a_failure(folder: Path) -> None:
    assert run_group("here", ["no-such-folder"]) == Count(failed=1)
    (folder / "test_dies.py").write_text("import os\ndef test_dies(): os._exit(0)\n")
    assert run_group("here", ["test_dies.py"]).failed == 1
    (folder / "test_none.py").write_text("import nothing_of_that_name\n")
    assert run_group("here", ["test_none.py"]).failed == 1


def test_a_group_without_chosen_tests_is_none(folder: Path) -> None:
    (folder / "test_all.py").write_text(ONE_OF_EACH)
    assert run_group("here", ["test_all.py", "-k", "nothing"]) == Count()


def test_a_failed_run_without_a_failed_test_counts_as_one(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="7" failures="0" errors="0" skipped="1"/></testsuites>')
    assert counted(report, 0) == Count(passed=6, skipped=1)
    assert counted(report, 3) == Count(passed=6, failed=1, skipped=1)


def test_a_broken_group_does_not_keep_the_others_from_running_and_the_last_line_has_the_sum(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two", "three"):
        (folder / f"test_{name}.py").write_text(ONE_OF_EACH if name == "three" else "def test_it(): pass\n")
    (folder / "test_one.py").write_text("import nothing_of_that_name\n")
    lanes = {"quick": [("test_one.py",), ("test_two.py",)], "slow": [("test_three.py",)]}
    monkeypatch.setattr(run_tests, "LANES", lanes)
    monkeypatch.setattr(run_tests, "OPTIONS", [])
    monkeypatch.setattr(run_tests, "covered", lambda _least: Count())
    assert main([]) == 1
    *lines, last = capfd.readouterr().out.splitlines()
    assert last == "tests: 2 passed, 3 failed, 1 skipped"
    failed = [line for line in lines if line.startswith("== failed: ")]
    assert [line.rpartition("::")[2] for line in failed] == ["test_one", "test_fails", "test_cannot_begin"]
    assert any("assert False" in line for line in lines[lines.index(failed[1]) :])
    monkeypatch.setattr(run_tests, "LANES", {"quick": [("test_two.py",)]})
    assert main([]) == 0
    *lines, last = capfd.readouterr().out.splitlines()
    assert last == "tests: 1 passed, 0 failed, 0 skipped"
    assert all(line.startswith("quick       | ") for line in lines)
    assert any("test_two.py . " in line for line in lines)


@pytest.mark.parametrize(("workers", "most"), [("1", 1), ("2", 2)])
def test_lanes_run_side_by_side_and_one_by_one_where_one_worker_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, workers: str, most: int
) -> None:
    running, at_once = set[str](), list[int]()

    def run_lane(lane: str, options: list[str]) -> Count:
        running.add(lane)
        time.sleep(0.2)
        at_once.append(len(running))
        time.sleep(0.2)
        running.discard(lane)
        return Count(passed=1)

    monkeypatch.setattr(run_tests, "run_lane", run_lane)
    monkeypatch.setattr(run_tests, "covered", lambda _least: Count())
    assert main(["--workers", workers]) == 0
    assert max(at_once) == most


def test_too_low_a_coverage_is_a_failure_and_part_of_the_tests_is_not_judged_by_it(folder: Path) -> None:
    assert covered(90) == Count(failed=1)  # nothing was measured here
    assert covered(0) == Count()


def test_what_failed_is_run_again_alone_and_named_if_it_passes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    test = folder / "test_all.py"
    test.write_text("def test_a(): pass\n\ndef test_b(): assert False\n")
    monkeypatch.setattr(run_tests, "LANES", {"quick": [("test_all.py",)]})
    monkeypatch.setattr(run_tests, "OPTIONS", [])
    monkeypatch.setattr(run_tests, "covered", lambda _least: Count())
    assert main([]) == 1
    assert (folder / FAILED).read_text() == "test_all.py::test_b\n"
    assert main(["--failed"]) == 1
    test.write_text("def test_a(): assert False\n\ndef test_b(): pass\n")
    assert main(["--failed"]) == 0, "only what failed"
    *_, named, last = capfd.readouterr().out.splitlines()
    assert named == "== passed alone, but not beside the others: test_all.py::test_b"
    assert last == "tests: 1 passed, 0 failed, 0 skipped"
    test.write_text("def test_a(): pass\n")
    assert main(["--failed"]) == 1, "it is gone"
    assert main([]) == 0
    assert main(["--failed"]) == 1, "nothing is noted"


def test_if_the_test_is_unknown_the_whole_group_is_run_again(folder: Path) -> None:
    (folder / "test_dies.py").write_text("import os\ndef test_dies(): os._exit(0)\n")
    assert run_group("here", ["test_dies.py", "-q"]).again == ("test_dies.py",)
    (folder / "test_none.py").write_text("import nothing_of_that_name\n")
    assert run_group("here", ["test_none.py"]).again == ("test_none.py",)


def test_too_low_a_coverage_is_nothing_that_could_be_run_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = folder / "test_all.py"
    test.write_text("def test_a(): assert False\n")
    monkeypatch.setattr(run_tests, "LANES", {"quick": [("test_all.py",)]})
    monkeypatch.setattr(run_tests, "OPTIONS", [])
    assert main([]) == 1
    test.write_text("def test_a(): pass\n")
    assert main(["--failed"]) == 1
