"""Make `.venv` with the pinned dependencies of setup.cfg; nothing to do where it stands already.

Started by the machine's own Python, so standard library only.
"""

from __future__ import annotations

import configparser
import os
import re
import sys
import venv
from pathlib import Path

import stamp
from prerequisites import check_python, find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
VENV = REPO / ".venv"


def main() -> None:
    """Bring `.venv` up to date, or say what is missing on this machine."""
    os.chdir(REPO)
    check_python()
    find_java()  # asked for now: better than after minutes of downloads
    version = sys.version_info[:2]
    made_from = stamp.digest(str(version), pins((REPO / "setup.cfg").read_text()))
    if stamp.is_current(VENV, made_from):
        return
    if not _has_version(version):
        print(f"Virtual environment: {VENV}, Python {sys.version.split()[0]}", flush=True)
        venv.create(VENV, with_pip=True, clear=True)
    stamp.forget(VENV)
    _install()
    stamp.remember(VENV, made_from)


def pins(setup_cfg: str) -> str:
    """Return the part of *setup_cfg* that decides what is installed, so that other edits cost no reinstallation."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(setup_cfg)
    extras = "\n".join(f"{name}: {wanted}" for name, wanted in parser.items("options.extras_require"))
    return f"{parser.get('options', 'install_requires')}\n{extras}"


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
    """True where `.venv` is whole and of this version; one left halfway, or of another Python, is made anew."""
    if not (VENV / "bin" / "pip").exists():
        return False
    found = re.search(r"^version(?:_info)? *= *(\d+)\.(\d+)", (VENV / "pyvenv.cfg").read_text(), re.MULTILINE)
    return found is not None and (int(found[1]), int(found[2])) == version


def _install() -> None:
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_NO_INPUT": "1"}
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--progress-bar=off"]
    run_shown(
        "Python packages",
        [*command, "--editable", ".[notebooks,test,dev,bench]"],
        describe_pip,
        VENV / "install.log",
        environment=os.environ | quiet,
    )


if __name__ == "__main__":
    main()
