"""Runs that claim more of an origin than its log has: what is beyond its end is no copy, and unread by everyone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import RowGroups, keys_at

IDENTITY = ["origin", "topic", "partition"]
_ENDLESS = np.iinfo(np.int64).max
LogEnds = Mapping[tuple[str, str, int], int]
"""Where the log of an origin, topic and partition ends."""


def refute_beyond(cut: pa.Table, ends: LogEnds) -> pa.Table:
    """Return the rows, of :data:`CUT_SCHEMA`, with the stretches of runs made malformed that are beyond *ends*.

    Where a mirror writes nonsense that is every second row of a micro-batch, so no row is looked at by itself.
    """
    if not ends or cut.num_rows == 0:
        return cut
    log_end = _log_ends(cut, ends)
    origin_start, length = int64s(cut.column("origin_start")), int64s(cut.column("length"))
    is_beyond = origin_start + length > log_end
    if not is_beyond.any():
        return cut
    beyond = cut.filter(pa.array(is_beyond))
    return pa.concat_tables([cut.filter(pa.array(~is_beyond)), *_split(beyond, log_end[is_beyond])])


def _log_ends(cut: pa.Table, ends: LogEnds) -> NDArray[np.int64]:
    """Return where the log of each row's origin ends, shape (rows,); of those not in *ends* the greatest number."""
    columns = [cut.column(name) for name in IDENTITY]
    groups = RowGroups.of(columns)
    found = [ends.get(key, _ENDLESS) for key in keys_at(columns, groups.first)]
    return np.array(found, np.int64)[groups.group]


@dataclass(frozen=True)
class RefuteBeyond:
    """Does so with the rows of a task; pickled to the executors."""

    ends: LogEnds

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in no order."""
        for batch in batches:
            yield from refute_beyond(pa.Table.from_batches([batch]).cast(CUT_SCHEMA), self.ends).to_batches()


def _split(runs: pa.Table, log_end: NDArray[np.int64]) -> list[pa.Table]:
    """Return of *runs* what may be copies, what is none, and the lines about that for the quarantine.

    The logs of their origins end at *log_end*, shape (runs,), which lies before the end of each run.
    """
    starts, length = int64s(runs.column("start_offset")), int64s(runs.column("length"))
    origin_start = int64s(runs.column("origin_start"))
    honest = np.maximum(0, log_end - origin_start)
    first, left = starts + honest, length - honest
    copies = _with(runs, {"length": pa.array(honest)}).filter(pa.array(honest > 0))
    nobody = pa.repeat(pa.scalar("", pa.string()), len(runs))
    wrong = {"start_offset": first, "length": left, "origin_start": first}
    wrongs = _with(runs, {"origin": nobody, **{name: pa.array(values) for name, values in wrong.items()}})
    numbers = (each.tolist() for each in (origin_start + honest, left, log_end))
    rows = zip(runs.column("origin").to_pylist(), *numbers, strict=True)
    line = {
        "topic": runs.column("topic"),
        "partition": runs.column("partition"),
        "start_offset": pa.array(first),
        "length": pa.array(np.zeros(len(runs), np.int64)),
        "error": pa.array([_reason(*row) for row in rows], pa.string()),
    }
    nothing = {field.name: pa.nulls(len(runs), field.type) for field in CUT_SCHEMA}
    return [copies, wrongs, pa.table(nothing | line, schema=CUT_SCHEMA)]


def _with(rows: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    return pa.table({name: rows.column(name) for name in CUT_SCHEMA.names} | dict(columns), schema=CUT_SCHEMA)


def _reason(origin: str, claimed: int, left: int, log_end: int) -> str:
    names = f"origin offset {claimed}" + (f" and the {left - 1} after it" if left > 1 else "")
    return f"{names}: not in the log of {origin}, which ends at {log_end}"
