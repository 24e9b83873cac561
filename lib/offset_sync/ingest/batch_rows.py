"""A micro-batch read from a cluster's logs, and its rows of ``record_runs`` and ``quarantine``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.kept_runs import KeptRuns
from offset_sync.ingest.run_builder import filled
from offset_sync.model.values import Stop, TopicPartition
from offset_sync.state.index_rows import int64s
from offset_sync.state.row_groups import greatest_of_each
from offset_sync.tables.catalog import BEGINS, QUARANTINE, RECORD_RUNS

_TIME, _MILLISECONDS = pa.timestamp("us", tz="UTC"), pa.timestamp("ms", tz="UTC")
_RUN_COLUMNS = ("topic", "partition", "start_offset", "length", "origin", "origin_start")
_ORDER = ("topic", "partition", "start_offset")


class ReadBatch(NamedTuple):
    """Rows of :data:`CUT_SCHEMA`, read from *start* to *end*, before *at*.

    *again* are logs that were re-read, with the offset from which they still have to be (None: read as far as the query
    has). *complete_until* has, by log, the time up to which its records are read. *kept* are more such rows, which stay
    with the tasks that made them. Logs that *stopped* end before the end of their plan.
    """

    cut: pa.Table
    start: Offsets
    end: Offsets
    at: datetime
    again: Mapping[TopicPartition, int | None] = MappingProxyType({})
    complete_until: Mapping[TopicPartition, datetime] = MappingProxyType({})
    kept: tuple[KeptRuns, ...] = ()
    stopped: Mapping[TopicPartition, Stop] = MappingProxyType({})

    def and_stopped(self, logs: Mapping[TopicPartition, Stop]) -> ReadBatch:
        """Return it without what could not be read of *logs*."""
        ends = {log: stop.offset for log, stop in logs.items()}
        return self._replace(end=self.end | ends, stopped={**self.stopped, **logs})


def to_runs(cut: pa.Table, alias: str, now: datetime) -> pa.Table:
    """Return rows of ``record_runs`` for the runs of the cluster *alias* in *cut*, indexed *now*; in log order."""
    cut = cut.filter(pc.is_null(cut.column("error"))).sort_by([(name, "ascending") for name in _ORDER])
    columns = {
        "cluster": pa.repeat(alias, cut.num_rows),
        "min_timestamp": _to_timestamp(cut.column("min_timestamp_ms")),
        "max_timestamp": _to_timestamp(cut.column("max_timestamp_ms")),
        "indexed_at": _repeat_time(now, cut.num_rows),
        **{name: cut.column(name) for name in _RUN_COLUMNS},
    }
    return record_runs(columns, cut.num_rows)


def to_quarantine(cut: pa.Table, alias: str, now: datetime) -> pa.Table:
    """Return rows of ``quarantine`` for the records in *cut* that could not be decoded, or are no copies."""
    cut = cut.filter(pc.is_valid(cut.column("error")))
    columns = {
        "cluster": pa.repeat(alias, cut.num_rows),
        "topic": cut.column("topic"),
        "partition": cut.column("partition"),
        "offset": cut.column("start_offset"),
        "key": cut.column("origin_header"),
        "value": cut.column("offset_header"),
        "error": cut.column("error"),
        "seen_at": _repeat_time(now, cut.num_rows),
    }
    return pa.table(columns).select(QUARANTINE.names).cast(QUARANTINE.arrow_schema)


def coverage(runs: pa.Table, read: ReadBatch, batch_id: int, alias: str) -> pa.Table:
    """Return rows of length 0: where reading of each partition began, and where it ended if no record is there.

    *runs* are the runs of *read* that the driver holds.

    With a new checkpoint a query may begin beyond what was read before. A partition that appears after batch 0 is read
    from its log start, so its index is complete from 0 on.
    """
    run_ends = int64s(runs.column("start_offset")) + int64s(runs.column("length"))
    last = greatest_of_each(runs, ["topic", "partition"], run_ends)
    for kept in read.kept:
        last |= {place: max(end, last.get(place, -1)) for place, end in kept.ends().items()}
    rows, same = list[dict[str, object]](), {"cluster": alias, "length": 0, "origin": alias, "indexed_at": read.at}
    for place, offset in sorted(read.end.items()):
        begin, row = read.start.get(place, 0), {**same, "topic": place[0], "partition": place[1]}
        if offset > begin or batch_id == 0 or place not in read.start or place in read.again:
            until = read.complete_until.get(place)
            rows.append({**row, "start_offset": begin, "origin_start": BEGINS, "complete_until": until})
        if offset > max(last.get(place, -1), begin):
            rows.append({**row, "start_offset": offset, "origin_start": offset})
    return pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema)


def record_runs(columns: Mapping[str, pa.Array | pa.ChunkedArray], count: int) -> pa.Table:
    """Return *count* rows of ``record_runs``; columns that are not there are null."""
    schema = RECORD_RUNS.arrow_schema
    return pa.table(filled(columns, count, schema), schema=schema)


def _to_timestamp(milliseconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return milliseconds.cast(_MILLISECONDS).cast(_TIME)


def _repeat_time(now: datetime, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(now, _TIME), count)
