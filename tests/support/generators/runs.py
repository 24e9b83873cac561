"""Logs cut into runs, record by record, and once more at any place, as by batch borders."""

from __future__ import annotations

import random
from typing import NamedTuple

from oracles.translation import Log, LogRecord


class Run(NamedTuple):
    """A stretch in which offset and origin offset grow by one and the origin stays the same."""

    start: int
    length: int
    origin: str
    origin_start: int
    indexed_at_ms: int


class Increment(NamedTuple):
    """What one batch of the indexer adds: runs in offset order, and how far it has read."""

    runs: list[Run]
    frontier: int


def maximal_runs(records: tuple[LogRecord, ...]) -> list[Run]:
    """Return the fewest runs that say the same as *records*, which are in offset order."""
    runs: list[Run] = []
    for record in records:
        if runs and _continues(runs[-1], record):
            runs[-1] = runs[-1]._replace(length=runs[-1].length + 1)
        else:
            runs.append(Run(record.offset, 1, record.origin, record.origin_offset, record.indexed_at_ms))
    return runs


def _continues(run: Run, record: LogRecord) -> bool:
    next_in_run = (run.start + run.length, run.origin, run.origin_start + run.length, run.indexed_at_ms)
    return next_in_run == (record.offset, record.origin, record.origin_offset, record.indexed_at_ms)


def split_at(runs: list[Run], borders: set[int]) -> list[Run]:
    """Return *runs* with a new run beginning at each offset of *borders* that is inside one."""
    pieces: list[Run] = []
    for run in runs:
        cuts = [run.start, *sorted(b for b in borders if run.start < b < run.start + run.length)]
        for cut, end in zip(cuts, [*cuts[1:], run.start + run.length], strict=True):
            pieces.append(run._replace(start=cut, length=end - cut, origin_start=run.origin_start + cut - run.start))
    return pieces


def increments(log: Log, rng: random.Random, *, batches: int = 3, splits: int = 4) -> list[Increment]:
    """Return the indexed part of *log* as up to *batches* batches, with up to *splits* needless borders inside."""
    borders = {rng.randint(0, log.frontier) for _ in range(rng.randint(0, splits))}
    ends = sorted({log.frontier, *(rng.randint(0, log.frontier) for _ in range(rng.randint(0, batches - 1)))})
    runs = split_at(maximal_runs(log.indexed), borders | set(ends))
    starts = [0, *ends[:-1]]
    spans = zip(starts, ends, strict=True)
    return [Increment([run for run in runs if low <= run.start < high], high) for low, high in spans]
