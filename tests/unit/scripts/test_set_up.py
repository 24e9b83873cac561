"""Locks, the archive for executors, and the program that runs all tests."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import run_tests
from bundle import build_zip
from requirements import LOCKS, disagreements, lock_path
from run_tests import Count, main

REPO = Path(__file__).resolve().parents[3]
SETUP_CFG = (REPO / "setup.cfg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_what_setup_cfg_pins(name: str) -> None:
    assert disagreements(SETUP_CFG, name, lock_path(name).read_text(encoding="utf-8")) == []


def test_the_zip_has_the_package_at_its_root_and_is_written_again_only_when_a_source_changed(tmp_path: Path) -> None:
    lib, target = tmp_path / "lib", tmp_path / "dist" / "offset_sync.zip"
    sources = {
        "offset_sync/__init__.py": True,
        "offset_sync/deep/page.html": True,
        "offset_sync/deep/__pycache__/one.cpython-311.pyc": False,
        "offset_sync_contents-0.1.0.dist-info/entry_points.txt": True,
        "offset_sync_demo/one.py": False,
    }
    for name in sources:
        (lib / name).parent.mkdir(parents=True, exist_ok=True)
        (lib / name).write_text(name)
    assert build_zip(lib, target)
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == [name for name, is_packed in sources.items() if is_packed]
    first = target.read_bytes()
    assert not build_zip(lib, target), "nothing has changed"
    target.write_bytes(b"cut short")
    (lib / "offset_sync/__init__.py").write_text("a = 2")
    assert build_zip(lib, target)
    assert target.read_bytes() != first


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
