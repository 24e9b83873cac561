"""What the processes that a benchmark has started use of memory and processor, as Linux counts it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Use:
    """The most memory that a process held, and how many cores it kept busy on average."""

    peak_mib: int
    cores: float


class Meter:
    """What named processes use from :meth:`start` on, each with its children."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = dict(pids)
        self.start()

    def start(self) -> None:
        """Count the processor's time from now on."""
        self._started_s = time.monotonic()
        self._before_s = {name: _used_s(pid) for name, pid in self._pids.items()}

    def read(self) -> dict[str, Use]:
        """Return what was used until now; of memory what was held at any time."""
        seconds, found = time.monotonic() - self._started_s, dict[str, Use]()
        for name, pid in self._pids.items():
            # What a process used that has ended by now is not known.
            used_s = sum(s - self._before_s[name].get(each, 0.0) for each, s in _used_s(pid).items())
            found[name] = Use(peak_memory_mib(pid), round(used_s / seconds, 3))
        return found


def child_pid(name: str) -> int:
    """Return the process with *name* in its command line that this process has started."""
    mine = (pid for pid, parent in _parents().items() if parent == os.getpid())
    return next(pid for pid in mine if name in Path(f"/proc/{pid}/cmdline").read_text())


def peak_memory_mib(pid: int) -> int:
    """Return the sum of the most that the process and each of its living children ever held, in MiB.

    Python's workers share pages with the process that they are forked from, which are counted again for each of them.
    """
    return round(sum(_status(each).get("VmHWM", 0) for each in _tree(pid)) / 1024)


def peak_memory_by_command(pid: int) -> dict[str, int]:
    """Return the same for ``java`` and for all else, in MiB."""
    found = {"java": 0, "python": 0}
    for each in _tree(pid):
        try:
            name = Path(f"/proc/{each}/comm").read_text().strip()
        except OSError:
            continue
        found["java" if name == "java" else "python"] += _status(each).get("VmHWM", 0)
    return {name: round(kib / 1024) for name, kib in found.items()}


def processor_s(pid: int) -> float:
    """Return the processor time that the process and its children have used, in seconds."""
    total = 0.0
    for each in _tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # utime, stime, and the same of children that have ended (fields 14 to 17, of which the first two are gone).
        total += sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return total


def _used_s(pid: int) -> dict[int, float]:
    """Return the processor time that the process and each of its living children have used, in seconds."""
    found = dict[int, float]()
    for each in _tree(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[each] = sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")
    return found


def _tree(pid: int) -> set[int]:
    parents, tree = _parents(), {pid}
    while more := {child for child, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return tree


def _parents() -> dict[int, int]:
    numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return {pid: _status(pid).get("PPid", 0) for pid in numbers}


def _status(pid: int) -> dict[str, int]:
    """Return the numbers of ``/proc/PID/status``, kB for memory; none for a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    named = (line.split(":", 1) for line in lines if ":" in line)
    return {name: int(value.split()[0]) for name, value in named if value.split() and value.split()[0].isdigit()}
