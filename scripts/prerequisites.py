"""What must be on the machine before anything can be installed, each with its remedy. Standard library only."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST_PYTHON = (3, 11)
FIRST_PYTHON_TOO_NEW = (3, 15)
# Spark 4.2 is made for 17, 21 and 25; on 27 it does not start (jdk.internal.ref.Cleaner is gone).
OLDEST_JAVA = 17
FIRST_JAVA_TOO_NEW = 26
# Before this one G1 may move memory that native code is working on (JDK-8377811): files compressed with zstd came out
# corrupt. Spark's documentation asks for it too.
FIRST_SOUND_JAVA_25 = (25, 0, 3)


class PrerequisiteMissing(SystemExit):
    """Something this project cannot install by itself; the message names the remedy, the exit code is 1."""


def check_python(version: tuple[int, int] = sys.version_info[:2], *, can_make_environments: bool | None = None) -> None:
    """Raise unless this Python can hold the pinned dependencies and make virtual environments."""
    found = ".".join(map(str, version))
    if not OLDEST_PYTHON <= version < FIRST_PYTHON_TOO_NEW:
        raise PrerequisiteMissing(
            f"Python 3.11, 3.12, 3.13 or 3.14 is needed, this is {found} ({sys.executable}); "
            "install one and name it: make PYTHON=python3.13"
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
        raise PrerequisiteMissing(f"{_JAVA_NEEDED}, there is no java {where}; {_JAVA_REMEDY}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = java_version(said)
    if not version:
        raise PrerequisiteMissing(f"{_JAVA_NEEDED}, {java} said {said.strip()!r}; {_JAVA_REMEDY}")
    if not is_java_supported(version):
        raise PrerequisiteMissing(f"{_JAVA_NEEDED}, {java} is {'.'.join(map(str, version))}; {_JAVA_REMEDY}")
    return java


def is_java_supported(version: tuple[int, ...]) -> bool:
    """True for a Java on which Spark runs and which does not corrupt what it writes."""
    is_unsound = (25,) <= version < FIRST_SOUND_JAVA_25
    return (OLDEST_JAVA,) <= version < (FIRST_JAVA_TOO_NEW,) and not is_unsound


def java_version(version_text: str) -> tuple[int, ...]:
    """Return the version in what ``java -version`` printed, the major one first; empty where it cannot be read.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0_402"')
    ((17, 0, 15), (8, 0))
    """
    found = re.search(r'version "(?:1\.)?(\d+(?:\.\d+)*)', version_text)
    return tuple(map(int, found[1].split("."))) if found else ()


_JAVA_NEEDED = "Java 17, 21 or 25 (25.0.3 or newer) is needed"
_JAVA_REMEDY = (
    "on Debian and Ubuntu: apt-get install openjdk-21-jre-headless (or 17, or 25); on macOS: brew install openjdk@21; "
    "elsewhere unpack one; where it is not the first on the PATH set JAVA_HOME"
)


if __name__ == "__main__":
    check_python()
    find_java()
