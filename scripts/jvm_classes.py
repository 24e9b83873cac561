"""Make an archive of the classes of a JVM, in a process of its own, and again where what it is made from has changed.

A JVM that is given the archive maps it instead of reading, checking and linking thousands of classes (class data
sharing, JEP 350). It is good for the Java and the jars it was made with; with others the JVM passes over it, and what
it runs starts as it would without.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import stamp
from prerequisites import find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
WARM_UP = "--warm-up"
_STEP = "== "


@dataclass(frozen=True)
class Archive:
    """File *path*, which *script*, run with ``WARM_UP``, makes from *jars*; *made* is the folder of its stamp."""

    title: str
    path: Path
    made: Path
    jars: Path
    script: Path

    def bring_up_to_date(self, environment: Callable[[], Mapping[str, str]] = lambda: os.environ) -> None:
        """Make it, in *environment*, unless it is there; where it cannot be made, say so and leave it at that."""
        made_from = self._made_from()
        if self.made.is_dir() and stamp.is_current(self.made, made_from):
            return
        self.made.mkdir(parents=True, exist_ok=True)
        stamp.forget(self.made)
        self.path.unlink(missing_ok=True)
        log = REPO / ".venv" / f"install-{self.script.stem.replace('_', '-')}.log"
        try:
            command = [sys.executable, str(self.script), WARM_UP]
            run_shown(self.title, command, _step_of, log, environment=dict(environment()))
        except SystemExit as failure:
            print(failure, flush=True)
        if not self.path.is_file():
            print(f"{self.title}: not made, so starting takes longer; see {log}", flush=True)
        stamp.remember(self.made, made_from)  # also without one: what failed now fails again until something changes

    def _made_from(self) -> str:
        version = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
        jars = sorted(f"{jar.name} {jar.stat().st_size}" for jar in self.jars.glob("*.jar"))
        return stamp.digest(version, str(REPO), self.script.read_text(), *jars)


def say(step: str) -> None:
    """Name the *step* that begins; to be called where the classes are used."""
    print(_STEP + step, flush=True)


def _step_of(line: str) -> str | None:
    return line.removeprefix(_STEP) if line.startswith(_STEP) else None
