"""Runs that claim more of an origin than its log has: what is beyond its end is no copy, and unread by everyone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.run_builder import CUT_SCHEMA

IDENTITY = ["origin", "topic", "partition"]
LogEnds = Mapping[tuple[str, str, int], int]
"""Where the log of an origin, topic and partition ends."""


def refute_beyond(cut: pa.Table, ends: LogEnds) -> pa.Table:
    """Return the rows, of :data:`CUT_SCHEMA`, with the stretches of runs made malformed that are beyond *ends*."""
    for key, log_end in ends.items():
        is_beyond = pc.greater(pc.add(cut.column("origin_start"), cut.column("length")), log_end)
        for name, value in zip(IDENTITY, key, strict=True):
            is_beyond = pc.and_(is_beyond, pc.equal(cut.column(name), value))
        is_beyond = pc.fill_null(is_beyond, False)
        rows = [row for run in cut.filter(is_beyond).to_pylist() for row in _split(run, log_end)]
        cut = pa.concat_tables([cut.filter(pc.invert(is_beyond)), pa.Table.from_pylist(rows, CUT_SCHEMA)])
    return cut


@dataclass(frozen=True)
class RefuteBeyond:
    """Does so with the rows of a task; pickled to the executors."""

    ends: dict[tuple[str, str, int], int]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in no order."""
        for batch in batches:
            yield from refute_beyond(pa.Table.from_batches([batch]).cast(CUT_SCHEMA), self.ends).to_batches()


def _split(run: dict[str, Any], log_end: int) -> list[dict[str, Any]]:
    """Return a run as what may be a copy, if anything may, what is none, and the line about it for the quarantine."""
    honest = max(0, log_end - run["origin_start"])
    first = run["start_offset"] + honest
    wrong = run | {"start_offset": first, "length": run["length"] - honest, "origin": "", "origin_start": first}
    claimed, more = run["origin_start"] + honest, wrong["length"] - 1
    names = f"origin offset {claimed}" + (f" and the {more} after it" if more else "")
    reason = f"{names}: not in the log of {run['origin']}, which ends at {log_end}"
    line = dict.fromkeys(run) | {"topic": run["topic"], "partition": run["partition"], "start_offset": first}
    line |= {"length": 0, "error": reason}
    return [*([run | {"length": honest}] if honest else []), wrong, line]
