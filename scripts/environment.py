"""Make `.venv` from the locks, each file checked by its hash; does nothing if it is up to date.

Started by the machine's own Python, so standard library only.
"""

from __future__ import annotations

import os
import re
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import stamp
from prerequisites import check_python, find_java
from progress import run_shown
from requirements import BUILD, DEVELOPMENT, REPO, lock_path

VENV = REPO / ".venv"


def main() -> None:
    """Bring `.venv` up to date, or say what is missing on this machine."""
    os.chdir(REPO)
    check_python()
    find_java()  # asked for now: better than after minutes of downloads
    version = sys.version_info[:2]
    if stamp.is_current(VENV, made_from(version)):
        return
    if not _has_version(version):
        print(f"Virtual environment: {VENV}, Python {sys.version.split()[0]}", flush=True)
        venv.create(VENV, with_pip=True, clear=True)
    stamp.forget(VENV)
    steps = locked_steps(lock_path(DEVELOPMENT), lock_path(BUILD)) | own_step()
    install(steps, VENV / "bin" / "python", VENV)
    stamp.remember(VENV, made_from(version))


def made_from(version: tuple[int, int], repo: Path = REPO) -> str:
    """Return a name for what `.venv` is made from: other edits, of setup.cfg too, cost no reinstallation."""
    return stamp.digest(str(version), *(lock_path(lock, repo).read_text() for lock in (BUILD, DEVELOPMENT)))


def install(steps: Mapping[str, Sequence[str]], python: Path, logs: Path) -> None:
    """Take *steps* into the environment of *python*; what pip says goes to a file of the folder *logs* for each."""
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_NO_INPUT": "1"}
    for title, words in steps.items():
        log = logs / f"install-{title.lower().replace(' ', '-')}.log"
        command = [str(python), "-m", "pip", "install", "--progress-bar=off", *words]
        run_shown(title, command, describe_pip, log, environment=os.environ | quiet)


def locked_steps(lock: Path, build: Path) -> dict[str, list[str]]:
    """Return title -> arguments of pip for all that a *lock* names, each file checked by its hash.

    What sdists are built with comes first, from the lock *build*: else pip would fetch it for each of them, unchecked.
    Nothing is resolved again: of what is named with an extra, pip looks at the newest version there is, and not at the
    one that is locked, so that an installation would fail after each release of one.
    """
    checked = ["--require-hashes", "--no-deps"]
    return {
        "Build tools": [*checked, f"--requirement={build}"],
        "Python packages": [*checked, "--no-build-isolation", f"--requirement={lock}"],
    }


def own_step() -> dict[str, list[str]]:
    """Return title -> arguments of pip for this folder, which has no hash; so it brings nothing along."""
    return {"Offset Sync": ["--no-deps", "--no-build-isolation", f"--editable={REPO}"]}


def client_step(wheel: Path) -> dict[str, list[str]]:
    """Return title -> arguments of pip for a *wheel* of confluent-kafka in place of the locked one."""
    return {"Kerberos client": ["--no-deps", "--force-reinstall", str(wheel)]}


def describe_pip(line: str) -> str | None:
    """Return what a line of pip's output says about progress; None for one that says nothing new.

    >>> describe_pip("Downloading pyspark-4.2.0.tar.gz (434.2 MB)")
    'downloading pyspark-4.2.0.tar.gz (434.2 MB)'
    >>> describe_pip("  Preparing metadata (pyproject.toml): started")
    """
    if found := re.match(r"(Collecting|Downloading|Building wheel for) (\S+)( \([\d.]+ .?B\))?", line):
        verb = {"Collecting": "looking for"}.get(found[1], found[1].lower())
        return f"{verb} {found[2]}{found[3] or ''}"
    if found := re.match(r"Installing collected packages: (.*)", line):
        return f"installing {len(found[1].split(', '))} packages"
    return None


def _has_version(version: tuple[int, int]) -> bool:
    """True where `.venv` is whole and of this version; one left halfway, or of another Python, is recreated."""
    if not (VENV / "bin" / "pip").exists():
        return False
    found = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", (VENV / "pyvenv.cfg").read_text(), re.MULTILINE)
    return found is not None and (int(found[1]), int(found[2])) == version


if __name__ == "__main__":
    main()
