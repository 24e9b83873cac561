"""Offsets in a CSV file: a header, then a line each. Read whole, for one bad line lets none be answered."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from offset_sync.jobs.translation.offset_table import OffsetTable, check_columns, to_offsets
from offset_sync.model.errors import ConfigError
from offset_sync.translate.index.runs import Int64s

STANDARD_INPUT = "-"


def read_csv(path: str, now_ms: int) -> OffsetTable:
    """Return the offsets of the file at *path*, ``-`` for standard input; raises ConfigError with every bad line.

    The header names ``topic``, ``partition`` and ``offset`` in any order; ``taken_at`` (ISO 8601 with a zone) and
    ``leader_epoch`` may be there, and may be empty. Other columns are carried along as text. Empty lines are left out.
    """
    try:
        text = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as error:
        raise ConfigError([f"--file {path}: {error.strerror}"]) from None
    try:
        return parse_csv(text, now_ms)
    except ConfigError as error:
        name = "standard input" if path == STANDARD_INPUT else path
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from None


def parse_csv(text: bytes, now_ms: int) -> OffsetTable:
    """Return the offsets that *text* holds; see :func:`read_csv`."""
    header, _, body = text.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    try:
        names = next(csv.reader([header.decode().rstrip("\r")]), [])
    except UnicodeDecodeError:
        raise ConfigError(["line 1: not UTF-8"]) from None
    check_columns(names)
    bad: list[tuple[int, str]] = []

    def note_bad(row: arrow_csv.InvalidRow) -> str:
        said = f"expected {row.expected_columns} columns, found {row.actual_columns}"
        bad.append((int(row.number) + 1, said))  # the header is the first line
        return "skip"

    try:
        rows = arrow_csv.read_csv(
            pa.py_buffer(body),
            # In one thread: else nobody knows the number of a bad line.
            arrow_csv.ReadOptions(use_threads=False, column_names=names),
            arrow_csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=note_bad),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowInvalid as error:
        if body:
            raise ConfigError([f"{error}"]) from None
        rows = pa.table({name: pa.array([], pa.string()) for name in names})
    lines = _lines(rows.num_rows, [line for line, _ in bad])
    is_empty = pc.equal(rows.column(names[0]), "")
    for name in names[1:]:
        is_empty = pc.and_(is_empty, pc.equal(rows.column(name), ""))
    kept = np.flatnonzero(~is_empty.to_numpy().astype(np.bool_))
    return to_offsets(rows.take(pa.array(kept)) if len(kept) < len(lines) else rows, lines[kept], now_ms, bad)


def _lines(rows: int, bad: list[int]) -> Int64s:
    """Return the number of each row's line: the *bad* ones are none of the rows, and the header is the first line."""
    every = np.arange(2, 2 + rows + len(bad), dtype=np.int64)
    return every[~np.isin(every, np.array(bad, np.int64))]
