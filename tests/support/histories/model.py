"""What tables hold, as lists of rows, and what an index of ``record_runs`` knows by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import BEGINS, RECORD_RUNS
from offset_sync.tables.maintenance import BEGINS_SCHEMA

LOGS = (("dc1", 0), ("dc1", 1), ("dc2", 0))
TOPIC = "orders"
_NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)
Log: TypeAlias = tuple[str, int]
Records: TypeAlias = dict[int, tuple[str, int]]
"""Origin and origin offset of each record of a log, by its offset."""
Stretch: TypeAlias = tuple[int, str, int, int]
"""Of an append: which log, the origin, how many offsets hold no record before, and how many records follow."""


class Row(NamedTuple):
    """A row of ``record_runs``; *number* is when it was indexed, so no two are equal."""

    log: Log
    start: int
    length: int
    origin: str
    origin_start: int
    number: int

    @property
    def end(self) -> int:
        return self.start + self.length

    def as_dict(self) -> dict[str, Any]:
        place = {"cluster": self.log[0], "topic": TOPIC, "partition": self.log[1]}
        run = {"start_offset": self.start, "length": self.length, "origin": self.origin}
        return {**place, **run, "origin_start": self.origin_start, "indexed_at": _NOW + self.number * _MS}


def to_rows(rows: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist([row.as_dict() for row in rows], RECORD_RUNS.arrow_schema)


def of_rows(rows: pa.Table) -> Counter[Row]:
    return Counter(
        Row(
            (row["cluster"], row["partition"]),
            row["start_offset"],
            row["length"],
            row["origin"],
            row["origin_start"],
            (row["indexed_at"] - _NOW) // _MS,
        )
        for row in rows.to_pylist()
    )


class Source:
    """The logs, as an indexer reads them: each append continues where the one before has ended."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys(LOGS, 0)
        self._origins, self._number = dict.fromkeys(LOGS, 0), 0

    def read(self, stretches: Sequence[Stretch]) -> list[Row]:
        """Return the rows of an append: a begin, runs, and the end, of each log among *stretches*."""
        rows = list[Row]()
        for log in [LOGS[number] for number in dict.fromkeys(each[0] for each in stretches)]:
            rows.append(self._row(log, 0, log[0], BEGINS))
            for _, origin, gap, length in (each for each in stretches if LOGS[each[0]] == log):
                self.ends[log] += gap
                is_native = origin in ("", log[0])
                rows.append(self._row(log, length, origin, self.ends[log] if is_native else self._origins[log]))
                self.ends[log] += length
                self._origins[log] += 0 if is_native else length
            rows.append(self._row(log, 0, log[0], self.ends[log]))
        return rows

    def _row(self, log: Log, length: int, origin: str, origin_start: int) -> Row:
        self._number += 1
        return Row(log, self.ends[log], length, origin, origin_start, self._number)

    def begins(self, thirds: Sequence[int]) -> dict[Log, int]:
        return {log: self.ends[log] * third // 3 for log, third in zip(LOGS, thirds, strict=True)}


def to_begins(begins: dict[Log, int]) -> pa.Table:
    rows = [(cluster, TOPIC, partition, at) for (cluster, partition), at in begins.items()]
    return pa.Table.from_pylist([dict(zip(BEGINS_SCHEMA.names, row, strict=True)) for row in rows], BEGINS_SCHEMA)


def is_below(row: Row, begins: dict[Log, int]) -> bool:
    return row.start < begins[row.log] and row.end <= begins[row.log]


def records_of(rows: Iterable[Row]) -> dict[Log, tuple[int, int, Records]]:
    """Return where each log begins and ends by *rows*, and its records."""
    found: dict[Log, tuple[int, int, Records]] = {}
    for row in sorted(rows, key=lambda each: each.number):
        begin, end, records = found.get(row.log, (row.start, row.end, {}))
        for step in range(row.length):
            unknown = ("", row.start + step)
            records[row.start + step] = (row.origin, row.origin_start + step) if row.origin else unknown
        found[row.log] = min(begin, row.start), max(end, row.end), records
    return found


def records_in(index: RecordIndex) -> dict[Log, tuple[int, int, Records]]:
    """Return the same of an index; every page is read."""
    names = {code: name for name, code in index._codes.items()}
    found: dict[Log, tuple[int, int, Records]] = {}
    for place, log in index.all_logs().items():
        assert not log.is_contradicted, f"{place} contradicts itself"
        runs = log.runs
        records: Records = {}
        for start, length, origin, first in zip(
            *(each.tolist() for each in (runs.start, runs.length, runs.origin, runs.origin_start)), strict=True
        ):
            for step in range(length):
                assert start + step not in records, f"{place} has two records at {start + step}"
                records[start + step] = names[origin], first + step
        found[place.cluster, place.partition] = log.begin, log.frontier, records
    return found
