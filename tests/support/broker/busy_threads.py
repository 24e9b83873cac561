"""Threads of librdkafka in this process that wake up again and again with nothing to do."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

_TASKS = Path("/proc/self/task")
_SECONDS = 0.5
_WAKES_PER_S = 100
"""More than any has reason to: one that waits for its brokers wakes up once or ten times a second."""


def threads() -> set[str]:
    """Return the numbers of the threads that there are: clients of other tests may be left, whatever these do."""
    return {*_wakes()}


def busy_threads(others: Collection[str] = ()) -> list[str]:
    """Return the names of the threads but *others* that do so now.

    They are counted by their wakes, so a busy machine finds fewer, not more. Nothing may be asked of a cluster
    meanwhile.
    """
    before = _wakes()
    time.sleep(_SECONDS)
    mine = {task: each for task, each in _wakes().items() if task not in others}
    return [name for task, (name, wakes) in mine.items() if wakes - before.get(task, ("", wakes))[1] > _most()]


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
