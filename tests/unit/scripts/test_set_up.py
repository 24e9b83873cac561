"""Locks, archives, and the program that runs all tests."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import environment
import prerequisites
import run_tests
from archive import pack
from bundle import build_zip
from requirements import LOCKS, disagreements, lock_path, pins
from run_tests import Count, main

REPO = Path(__file__).resolve().parents[3]
SETUP_CFG = (REPO / "setup.cfg").read_text(encoding="utf-8")
PYTHONS = [(3, minor) for minor in range(prerequisites.OLDEST_PYTHON[1], prerequisites.FIRST_PYTHON_TOO_NEW[1])]
MACHINES = [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")]


def text_of(name: str) -> str:
    return lock_path(name).read_text(encoding="utf-8")


def packages(text: str) -> list[Requirement]:
    """Return what a lock names, with its marker and without its hashes."""
    return [Requirement(line.rstrip(" \\")) for line in text.splitlines() if re.match(r"[a-z0-9].*==", line)]


def applies(wish: Requirement, python: tuple[int, int], system: str, machine: str) -> bool:
    """Return whether pip would take *wish* on this machine."""
    version = ".".join(map(str, python))
    there = {"python_version": version, "python_full_version": f"{version}.9", "sys_platform": system}
    there |= {
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    return wish.marker is None or wish.marker.evaluate(there)


def chosen(text: str, python: tuple[int, int], system: str, machine: str) -> dict[str, list[str]]:
    """Return package -> the versions that pip would take from a lock on this machine."""
    found: dict[str, list[str]] = {}
    for package in packages(text):
        if applies(package, python, system, machine):
            found.setdefault(package.name, []).append(str(package.specifier))
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_what_setup_cfg_pins(name: str) -> None:
    assert disagreements(SETUP_CFG, name, text_of(name)) == []


@pytest.mark.parametrize("name", LOCKS)
@pytest.mark.parametrize("machine", MACHINES, ids="-".join)
@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_every_machine_gets_one_version_of_each_package(
    name: str, machine: tuple[str, str], python: tuple[int, int]
) -> None:
    found = chosen(text_of(name), python, *machine)
    assert {package: versions for package, versions in found.items() if len(versions) > 1} == {}
    wishes = [wish for wish in map(Requirement, pins(SETUP_CFG, name)) if applies(wish, python, *machine)]
    assert {re.sub(r"[-_.]+", "-", wish.name).lower() for wish in wishes} <= found.keys()


def test_a_file_that_is_not_the_one_that_was_locked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ask the real pip; nothing is installed, as the wheel there has another hash."""
    (tmp_path / "zipp-9.9.9-py3-none-any.whl").write_bytes(b"not what was locked")
    (tmp_path / "build.lock").write_text("")
    (tmp_path / "runtime.lock").write_text(f"zipp==9.9.9 --hash=sha256:{'0' * 64}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    steps = environment.locked_steps(tmp_path / "runtime.lock", tmp_path / "build.lock")
    with pytest.raises(SystemExit, match="Python packages: failed") as failed:
        environment.install(steps, Path(sys.executable), tmp_path)
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in str(failed.value)
    assert "Build tools: done" in capsys.readouterr().out


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    venv.create(folder / "environment", symlinks=True)
    (own,) = folder.glob("environment/lib/python3.*/site-packages")
    for module in ("numpy_like", "pyspark", "py4j"):
        (own / module).mkdir()
        (own / module / "__init__.py").write_text("answer = 42")
    (folder / "environment" / "bin" / "spark-submit").write_text("#!/bin/sh")
    packed = pack(folder / "environment", folder / "environment.tar.gz")
    assert packed.stat().st_mode & 0o444 == 0o444
    target = folder / "elsewhere"
    target.mkdir()
    subprocess.run(["tar", "-xzf", str(packed), "-C", str(target)], check=True)
    (folder / "environment").rename(folder / "gone")
    return target


def test_it_runs_where_it_is_unpacked(unpacked: Path) -> None:
    command = "import sys, numpy_like; print(numpy_like.answer, sys.prefix)"
    said = subprocess.run(
        [str(unpacked / "bin" / "python"), "-c", command], capture_output=True, text=True, check=True, cwd="/"
    )
    assert said.stdout.split() == ["42", str(unpacked)]


def test_the_zip_has_the_package_at_its_root_and_is_written_again_only_when_a_source_changed(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    package, entries = lib / "offset_sync", lib / "offset_sync_contents-0.1.0.dist-info"
    for folder in (package / "deep" / "__pycache__", entries, lib / "offset_sync_demo"):
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_text("")
    (package / "deep" / "__pycache__" / "entry_points.txt").unlink()
    for name in ("__init__.py", "deep/one.py", "deep/page.html", "deep/__pycache__/one.cpython-311.pyc"):
        (package / name).write_text(name)
    target = tmp_path / "dist" / "offset_sync.zip"
    assert build_zip(lib, target)
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == [
            "offset_sync/__init__.py",
            "offset_sync/deep/one.py",
            "offset_sync/deep/page.html",
            "offset_sync_contents-0.1.0.dist-info/entry_points.txt",
        ]
        assert archive.read("offset_sync/deep/one.py") == b"deep/one.py"
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    first = target.read_bytes()
    assert not build_zip(lib, target), "nothing has changed"
    (package / "__init__.py").write_text("a = 2")
    assert build_zip(lib, target)
    target.write_bytes(b"cut short")
    (package / "__init__.py").write_text("__init__.py")
    assert build_zip(lib, target)
    assert target.read_bytes() == first


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
