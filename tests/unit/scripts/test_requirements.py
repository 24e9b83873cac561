"""The locks: what setup.cfg pins is in them, with hashes, for every Python and machine; no registry is named."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import environment
import prerequisites
from requirements import LOCKS, disagreements, lock_path, pins

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
