"""What must be on the machine before anything can be installed, each with its remedy. Standard library only."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST_JAVA = 17
OLDEST_PYTHON = (3, 10)
FIRST_PYTHON_TOO_NEW = (3, 13)


class PrerequisiteMissing(SystemExit):
    """Something this project cannot install by itself; the message names the remedy, the exit code is 1."""


def check_python(version: tuple[int, int] = sys.version_info[:2], *, can_make_environments: bool | None = None) -> None:
    """Raise unless this Python can hold the pinned dependencies and make virtual environments."""
    found = ".".join(map(str, version))
    if not OLDEST_PYTHON <= version < FIRST_PYTHON_TOO_NEW:
        raise PrerequisiteMissing(
            f"Python 3.10, 3.11 or 3.12 is needed, this is {found} ({sys.executable}); "
            "install one and name it: make PYTHON=python3.12"
        )
    if can_make_environments is None:
        can_make_environments = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
    if not can_make_environments:
        raise PrerequisiteMissing(
            f"{sys.executable} has no ensurepip, so it cannot make a virtual environment; "
            f"on Debian and Ubuntu: apt-get install python{found}-venv"
        )


def find_java() -> str:
    """Return the Java that Spark will use: JAVA_HOME's if set, else the PATH's; raise where none will do."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    where = "in JAVA_HOME" if home else "on the PATH"
    if java is None or not os.access(java, os.X_OK):
        raise PrerequisiteMissing(f"Java {OLDEST_JAVA} or newer is needed, there is no java {where}; {_JAVA_REMEDY}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    major = java_major(said)
    if major is None or major < OLDEST_JAVA:
        found = f"is {major}" if major else f"said {said.strip()!r}"
        raise PrerequisiteMissing(f"Java {OLDEST_JAVA} or newer is needed, {java} {found}; {_JAVA_REMEDY}")
    return java


def java_major(version_text: str) -> int | None:
    """Return the major version in what ``java -version`` printed; None where it cannot be read.

    >>> java_major('openjdk version "17.0.15" 2025-04-15'), java_major('java version "1.8.0_402"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', version_text)
    return int(found[1]) if found else None


_JAVA_REMEDY = (
    "on Debian and Ubuntu: apt-get install openjdk-17-jre-headless (or 21); on macOS: brew install openjdk@17; "
    "elsewhere unpack one and set JAVA_HOME"
)


if __name__ == "__main__":
    check_python()
    find_java()
