"""Offsets as columns of text, as a file or a caller gives them, and the lines of them that say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.errors import ConfigError
from offset_sync.model.text import escaped
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS
from offset_sync.status.kept_offsets import KeptOffsets
from offset_sync.translate.index.runs import Int64s

REQUIRED = ("topic", "partition", "offset")
OPTIONAL = ("taken_at", "leader_epoch")
ANSWER_COLUMNS = ("target_offset", "state", "duplicates", "duplicates_at_most", "lost", "reason")
"""What is added to the columns given."""
_MOST_LINES = 100
"""So many bad lines are named; of more the number is."""
_NUMBER, _TOPIC = r"^[0-9]{1,19}$", r"^[a-zA-Z0-9._-]{1,249}$"
_BAD_TOPIC = "is no topic's name"
_BAD_TIME = "is no time with its zone, as 2026-01-31T12:00:00Z"
_IN_FUTURE = "lies in the future"


@dataclass(frozen=True)
class OffsetTable:
    """Columns as they were given, and the offsets in them."""

    given: pa.Table
    offsets: KeptOffsets

    def taken_at(self, at_ms: int | None) -> OffsetTable:
        """Return the same with a time for offsets that have none of their own."""
        if at_ms is None:
            return self
        known = self.offsets.taken_at_ms
        return replace(self, offsets=replace(self.offsets, taken_at_ms=np.where(known == ABSENT, at_ms, known)))

    def all_taken_at(self, at_ms: int | None) -> OffsetTable:
        """Return the same with one time for all offsets, where there is one."""
        if at_ms is None:
            return self
        return replace(self, offsets=replace(self.offsets, taken_at_ms=np.full(len(self.offsets), at_ms, np.int64)))


def parse_time(text: str, now_ms: int) -> int:
    """Return an ISO 8601 time with its zone in milliseconds since the epoch; ValueError where it is none, or to come.

    Of a time without a zone nobody knows when it was, and one that is too late would prove what is not so.
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(_BAD_TIME) from None
    if at.tzinfo is None:
        raise ValueError(_BAD_TIME)
    at_ms = int(at.timestamp() * 1000 // 1)
    if at_ms > now_ms + CLOCKS_APART_MS:
        raise ValueError(_IN_FUTURE)
    return max(at_ms, 0)


def check_columns(names: Sequence[str]) -> None:
    """Raise ConfigError where columns are missing, there twice, or named like those of an answer."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        found = escaped(", ".join(names)) or "nothing"
        raise ConfigError(
            [f"line 1: expected a header with topic,partition,offset; {', '.join(missing)} not in: {found}"]
        )
    problems = [f"line 1: column {name!a} is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    problems += [f"line 1: column {n!a} is one of the answer's; rename it" for n in names if n in ANSWER_COLUMNS]
    if problems:
        raise ConfigError(problems)


def to_offsets(given: pa.Table, lines: Int64s, now_ms: int, problems: Sequence[tuple[int, str]] = ()) -> OffsetTable:
    """Return the offsets in *given*, columns of text; *lines*, shape (rows,), are the numbers of its lines.

    Raises ConfigError that names every line which says nothing, those of *problems* too.
    """
    found = _Columns(given, lines, list(problems))
    topics = given.column("topic").combine_chunks().dictionary_encode()
    names = topics.dictionary.to_pylist()
    code = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    is_name = np.array(pc.match_substring_regex(topics.dictionary, _TOPIC).to_pylist(), np.bool_)
    found.note("topic", ~is_name[code] if len(names) else np.zeros(0, np.bool_), _BAD_TOPIC)
    offsets = KeptOffsets(
        names,
        code,
        found.numbers("partition", (1 << 31) - 1),
        found.numbers("offset", (1 << 63) - 1),
        found.times("taken_at", now_ms),
        found.numbers("leader_epoch", (1 << 31) - 1, is_optional=True),
    )
    if found.problems:
        raise ConfigError(_told(found.problems))
    return OffsetTable(given, offsets)


def _told(problems: list[tuple[int, str]]) -> list[str]:
    problems.sort()
    told = [f"line {line}: {text}" for line, text in problems[:_MOST_LINES]]
    more = len({line for line, _ in problems[_MOST_LINES:]} - {line for line, _ in problems[:_MOST_LINES]})
    return [*told, *([f"and {more:,} more lines"] if more else [])]


class _Columns:
    """Reads numbers and times out of columns, and notes the lines where there are none."""

    def __init__(self, given: pa.Table, lines: Int64s, problems: list[tuple[int, str]]) -> None:
        self._given, self._lines = given, lines
        self.problems = problems

    def note(self, name: str, is_bad: NDArray[np.bool_], why: str) -> None:
        """Note the lines in which column *name* is bad."""
        rows = np.flatnonzero(is_bad)
        texts = self._given.column(name).take(pa.array(rows, pa.int64())).to_pylist()
        for text, line in zip(texts, self._lines[rows].tolist(), strict=True):
            self.problems.append((line, f"{name} {escaped(text[:60])!r} {why}"))

    def numbers(self, name: str, most: int, *, is_optional: bool = False) -> Int64s:
        """Return a column of numbers from 0 to *most*; ABSENT where one is empty that may be, or bad."""
        if name not in self._given.column_names:
            return np.full(len(self._lines), ABSENT, np.int64)
        texts, is_empty = self._texts(name)
        is_number = _bools(pc.match_substring_regex(texts, _NUMBER))
        padded = pc.utf8_lpad(texts, 19, "0")
        is_number &= _bools(pc.less_equal(padded, pa.scalar(f"{most:019d}")))
        self.note(name, ~is_number & ~(is_empty & is_optional), f"is no number from 0 to {most}")
        readable = pc.if_else(pa.array(is_number), texts, str(ABSENT))
        return _int64s(readable.cast(pa.int64()))

    def times(self, name: str, now_ms: int) -> Int64s:
        """Return a column of times in ms since the epoch; ABSENT where one is empty or bad."""
        if name not in self._given.column_names:
            return np.full(len(self._lines), ABSENT, np.int64)
        texts, is_empty = self._texts(name)
        try:
            readable = pc.if_else(pa.array(is_empty), None, texts).cast(pa.timestamp("ns", "UTC"))
            found = _int64s(pc.floor_temporal(readable, unit="millisecond").cast(pa.int64()).fill_null(ABSENT))
            at_ms = np.where(is_empty, ABSENT, np.maximum(found // 1_000_000, 0))
            bad: dict[int, str] = dict.fromkeys(np.flatnonzero(at_ms > now_ms + CLOCKS_APART_MS).tolist(), _IN_FUTURE)
        except pa.ArrowInvalid:  # some are bad, or written in a way that only Python knows
            at_ms, bad = _one_by_one(texts.to_pylist(), now_ms)
        for why in sorted(set(bad.values())):
            self.note(name, np.isin(np.arange(len(at_ms)), [row for row, each in bad.items() if each == why]), why)
        return at_ms

    def _texts(self, name: str) -> tuple[pa.Array, NDArray[np.bool_]]:
        texts = pc.utf8_trim_whitespace(self._given.column(name).combine_chunks())
        return texts, _bools(pc.equal(texts, ""))


def _one_by_one(texts: Sequence[str], now_ms: int) -> tuple[Int64s, dict[int, str]]:
    at_ms, bad = np.full(len(texts), ABSENT, np.int64), dict[int, str]()
    for row, text in enumerate(texts):
        try:
            at_ms[row] = parse_time(text, now_ms) if text else ABSENT
        except ValueError as problem:
            bad[row] = str(problem)
    return at_ms, bad


def _bools(values: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values.to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _int64s(values: pa.Array) -> Int64s:
    found: Int64s = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
