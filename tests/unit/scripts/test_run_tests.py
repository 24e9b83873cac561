"""All groups of tests run, and what failed in all is counted and said in the last line."""

from __future__ import annotations

from pathlib import Path

import pytest

import run_tests
from run_tests import Count, main

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
