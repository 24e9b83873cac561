"""Logs written as text, and the core's answers to questions about them.

X is the source, Y the target. A log is written as its records: ``X3`` is the record that was produced at X with
offset 3, ``X3:6`` are three of them, ``.`` an offset without a record, ``?`` unreadable headers.
"""

from __future__ import annotations

from dataclasses import replace

from offset_sync.model.values import State
from oracles.translation import MALFORMED, Answer, Case, Log, LogRecord, answers
from oracles.translation_check import translated

HOUR_MS = 3_600_000
NOW_MS = 1_795_000_000_000


def log(cluster: str, text: str, *, first: int = 0, log_start: int = 0, frontier: int | None = None) -> Log:
    """*text* as a log whose first entry has offset *first*; all of it indexed, long ago, unless given."""
    records: list[LogRecord] = []
    offset = first
    for word in text.split():
        start, _, end = word[1:].partition(":")
        length = int(end) - int(start) if end else 1
        for step in range(length):
            if word != ".":
                origin, number = (MALFORMED, -1) if word == "?" else (word[0], int(start) + step)
                records.append(LogRecord(offset, origin, number, indexed_at_ms=NOW_MS - HOUR_MS))
            offset += 1
    return Log(cluster, tuple(records), log_start, offset, offset if frontier is None else frontier)


def indexed_at(where: Log, offset: int, at_ms: int) -> Log:
    """*where* with the record at *offset* indexed at *at_ms*."""
    records = tuple(replace(r, indexed_at_ms=at_ms) if r.offset == offset else r for r in where.records)
    return replace(where, records=records)


def ask(source: Log | None, target: Log, *commits: int, grace_ms: int = 60_000) -> list[Answer]:
    """Return the core's answers to *commits* of X on Y; an AssertionError where brute force answers otherwise."""
    case = Case("X", source, target, NOW_MS, grace_ms)
    found = translated(case, commits)
    assert found == answers(case, commits)
    return found


def offsets(source: Log | None, target: Log, *commits: int, grace_ms: int = 60_000) -> list[int]:
    """Return only the offsets of the answers."""
    return [answer.offset for answer in ask(source, target, *commits, grace_ms=grace_ms)]


def exact(offset: int, duplicates: int = 0) -> Answer:
    """An answer that leaves nothing open."""
    return Answer(offset, offset, State.EXACT, duplicates, duplicates, 0)


def at_frontier(offset: int) -> Answer:
    """An answer where all that is indexed is read."""
    return Answer(offset, offset, State.AT_FRONTIER, 0, 0, 0)
