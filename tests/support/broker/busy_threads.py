"""Threads of librdkafka in this process that wake up again and again with nothing to do."""

from __future__ import annotations

import time
from pathlib import Path

_TASKS = Path("/proc/self/task")
_SECONDS = 0.5
_WAKES_PER_S = 100
"""More than any has reason to: one that waits for its brokers wakes up once or ten times a second."""


def busy_threads() -> list[str]:
    """Return the names of the threads that do so now; counted by their wakes, so a busy machine finds fewer, not more.

    Nothing may be asked of a cluster meanwhile.
    """
    before = _wakes()
    time.sleep(_SECONDS)
    return [name for task, (name, wakes) in _wakes().items() if wakes - before.get(task, ("", wakes))[1] > _most()]


def _most() -> float:
    return _WAKES_PER_S * _SECONDS


def _wakes() -> dict[str, tuple[str, int]]:
    """Return name and voluntary context switches of each thread of librdkafka."""
    found = {}
    for task in _TASKS.iterdir():
        try:
            name, status = (task / "comm").read_text().strip(), (task / "status").read_text()
        except OSError:  # it has ended
            continue
        if name.startswith("rdk:"):
            found[task.name] = name, int(status.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found
