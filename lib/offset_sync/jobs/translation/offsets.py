"""Parses offsets, a row each, from a CSV file or a caller; reports every invalid line."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from offset_sync.kafka.requests import is_topic_name
from offset_sync.model.errors import ConfigError
from offset_sync.model.text import escaped
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS
from offset_sync.status.kept_offsets import KeptOffsets

REQUIRED = ("topic", "partition", "offset")
TAKEN_AT = "taken_at"
"""An optional column."""
ANSWER_COLUMNS = ("target_offset", "state", "duplicates", "duplicates_at_most", "lost", "reason")
"""The columns added to those given."""
STANDARD_INPUT = "-"
_MOST_LINES = 100
"""The most bad lines reported one by one; of more only the number is."""
_LARGEST_INT32, _LARGEST_INT64, _DIGITS = (1 << 31) - 1, (1 << 63) - 1, 19
_Value = TypeVar("_Value")
Problem = tuple[int, str]
"""The number of a line, and its problem."""


@dataclass(frozen=True)
class OffsetTable:
    """The given columns, and the offsets in them."""

    given: pa.Table
    offsets: KeptOffsets

    def taken_at(self, at_ms: int | None) -> OffsetTable:
        """Return the same with a time for offsets that have none of their own."""
        if at_ms is None:
            return self
        known = self.offsets.taken_at_ms
        return replace(self, offsets=replace(self.offsets, taken_at_ms=np.where(known == ABSENT, at_ms, known)))


def read_csv(path: str, now_ms: int) -> OffsetTable:
    """Return the offsets of the file at *path*, ``-`` for standard input; raises ConfigError with every bad line.

    The header names ``topic``, ``partition`` and ``offset`` in any order; ``taken_at`` (ISO 8601 with a zone) is
    optional, and may be empty. Other columns are kept as text. Empty lines are ignored.
    """
    try:
        content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise ConfigError([f"--file {path}: {error.strerror}"]) from None
    try:
        return parse_csv(content, now_ms)
    except ConfigError as error:
        name = "standard input" if path == STANDARD_INPUT else path
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from None


def parse_csv(content: bytes, now_ms: int) -> OffsetTable:
    """Return the offsets in *content*; see :func:`read_csv`."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"line {line}: not UTF-8"]) from None
    lines, problems = list[int](), list[Problem]()
    try:
        names = next(reader, [])
        check_columns(names)
        columns: dict[str, list[str]] = {name: [] for name in names}
        for row in filter(any, reader):
            if len(row) != len(names):
                problems.append((reader.line_num, f"expected {len(names)} columns, found {len(row)}"))
                continue
            lines.append(reader.line_num)
            for column, text in zip(columns.values(), row, strict=True):
                column.append(text)
    except csv.Error as error:
        raise ConfigError([f"line {reader.line_num}: {error}"]) from None
    return to_offsets(pa.table(columns, pa.schema(dict.fromkeys(names, pa.string()))), lines, now_ms, problems)


def check_columns(names: Sequence[str]) -> None:
    """Raise ConfigError if columns are missing, duplicate, or named like those of an answer."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        found = escaped(", ".join(names)) or "nothing"
        raise ConfigError(
            [f"line 1: expected a header with topic,partition,offset; {', '.join(missing)} not in: {found}"]
        )
    problems = [f"line 1: column {name!a} occurs twice" for name in sorted({n for n in names if names.count(n) > 1})]
    problems += [f"line 1: column {n!a} is a column of the answer; rename it" for n in names if n in ANSWER_COLUMNS]
    if problems:
        raise ConfigError(problems)


def to_offsets(given: pa.Table, lines: Sequence[int], now_ms: int, problems: Sequence[Problem] = ()) -> OffsetTable:
    """Return the offsets in *given*, columns of text; *lines* are the numbers of its lines.

    Raises ConfigError that names every invalid line, including those of *problems*.
    """
    bad = list(problems)

    def values(name: str, parse: Callable[[str], _Value]) -> list[_Value]:
        found = []
        texts = given.column(name).to_pylist() if name in given.column_names else [""] * len(lines)
        for text, line in zip(texts, lines, strict=True):
            try:
                found.append(parse(text))
            except ValueError as problem:
                bad.append((line, f"{name} {escaped(text[:60])!r} {problem}"))
        return found

    topics = values("topic", _topic)
    partitions = values("partition", partial(_number, most=_LARGEST_INT32))
    offsets = values("offset", partial(_number, most=_LARGEST_INT64))
    times = values(TAKEN_AT, lambda text: parse_time(text, now_ms) if text.strip() else ABSENT)
    if bad:
        raise ConfigError(_told(sorted(bad)))
    code = {name: number for number, name in enumerate(dict.fromkeys(topics))}
    columns = ([code[each] for each in topics], partitions, offsets, times)
    return OffsetTable(given, KeptOffsets([*code], *(np.array(each, np.int64) for each in columns)))


def _told(bad: Sequence[Problem]) -> list[str]:
    told = [f"line {line}: {text}" for line, text in bad[:_MOST_LINES]]
    more = len({line for line, _ in bad[_MOST_LINES:]} - {line for line, _ in bad[:_MOST_LINES]})
    return [*told, f"and {more:,} more lines"] if more else told


def _topic(text: str) -> str:
    if not is_topic_name(text):
        raise ValueError("is no topic's name")
    return text


def _number(text: str, most: int) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS and int(digits) <= most):
        raise ValueError(f"is no number from 0 to {most}")
    return int(digits)


def parse_time(text: str, now_ms: int) -> int:
    """Return an ISO 8601 time with its zone in milliseconds since the epoch; ValueError if invalid or in the future.

    Without a zone it may be off by hours, and a time that is too late could accept an offset wrongly.
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError("is no time with its zone, as 2026-01-31T12:00:00Z")
    at_ms = int(at.timestamp() * 1000 // 1)
    if at_ms > now_ms + CLOCKS_APART_MS:
        raise ValueError("is in the future")
    return max(at_ms, 0)
