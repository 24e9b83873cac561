"""Records of ``__consumer_offsets`` to typed rows, a micro-batch of them, and the rows of the tables that say so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.decode.consumer_offsets import RECORDS, decode_records
from offset_sync.kafka.log_reader import Chunk
from offset_sync.model.values import ABSENT, CONSUMER_OFFSETS, GroupPartition, OffsetRange, TopicPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.groups_by_log import KINDS as BY_LOG_KINDS
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table
from offset_sync.translate.index.runs import Int64s

UNREAD = "unread"
LAST_MS = (2**63 - 1) // 1000
"""The last time that fits; one beyond it counts as this one, and one before its negative as that."""
_DECODED = [(field.name, pa.string() if field.name == "kind" else field.type) for field in RECORDS]
DECODED_SCHEMA = pa.schema(
    [
        *_DECODED,
        ("records", pa.int64()),
        ("log_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""What :data:`offset_sync.decode.consumer_offsets.RECORDS` has, with the record's position in the log.

``key`` and ``value`` only where malformed; ``records`` is 1, or in the one row of kind ``ignored`` per Arrow batch the
number of records that say nothing about offsets or groups. A row of kind ``unread`` stands for a log that could not be
read up to the end of its range: ``log_partition`` says which, ``error`` why.
"""


def offset_records(chunk: Chunk) -> pa.RecordBatch:
    """Return the columns that are decoded, of records of ``__consumer_offsets``."""
    return chunk_rows(
        chunk,
        {
            "key": pa.array([record.key for _, record in chunk], pa.binary()),
            "value": pa.array([record.value for _, record in chunk], pa.binary()),
        },
    )


def chunk_rows(chunk: Chunk, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return *columns* of the records of *chunk* with the place and time of each, cut to fit."""
    times = pa.array([fitting(record.timestamp_ms) * 1000 for _, record in chunk], pa.int64())
    return pa.RecordBatch.from_pydict(
        {
            **columns,
            "partition": pa.array([place.partition for place, _ in chunk], pa.int32()),
            "offset": pa.array([record.offset for _, record in chunk], pa.int64()),
            "timestamp": times.cast(pa.timestamp("us", tz="UTC")),
        }
    )


def fitting(milliseconds: int) -> int:
    """Return a time, or the last one that Spark can hold on its side."""
    return max(-LAST_MS, min(LAST_MS, milliseconds))


def decode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decode batches of ``key, value, partition, offset, timestamp``; never fails on a record's bytes."""
    for batch in batches:
        decoded = decode_records(batch.column("key"), batch.column("value"))
        kind = decoded.column("kind").cast(pa.string())
        is_malformed, is_ignored = pc.equal(kind, "malformed"), pc.equal(kind, "ignored")
        columns = {field.name: decoded.column(field.name) for field in RECORDS} | {
            "kind": kind,
            "records": pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows),
            "log_partition": batch.column("partition"),
            "log_offset": batch.column("offset"),
            "timestamp": batch.column("timestamp"),
            "key": pc.if_else(is_malformed, batch.column("key"), pa.scalar(None, pa.binary())),
            "value": pc.if_else(is_malformed, batch.column("value"), pa.scalar(None, pa.binary())),
        }
        arrays = [columns[field.name].cast(field.type) for field in DECODED_SCHEMA]
        rows = pa.RecordBatch.from_arrays(arrays, schema=DECODED_SCHEMA)
        yield rows.filter(pc.invert(is_ignored))
        ignored = pc.sum(is_ignored).as_py() or 0
        if ignored:
            yield _rows([{"kind": "ignored", "records": ignored}])


def unread_rows(reasons: Mapping[TopicPartition, str]) -> pa.RecordBatch:
    """Return a row for each log that could not be read up to the end of its range, for the reason given."""
    found = sorted(reasons.items())
    return _rows([{"kind": UNREAD, "log_partition": place.partition, "error": why} for place, why in found])


def _rows(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [dict.fromkeys(DECODED_SCHEMA.names) | row for row in rows], schema=DECODED_SCHEMA
    )


MADE = "made_at"
_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last that every reader of the tables knows."""


class Looked(NamedTuple):
    """What was found out *at* a time that every row of the micro-batch bears.

    *again* is what has to be read once more, in the place of all that Spark has read of these logs. *begun* of them
    have begun another life, *whole* are those of which nothing more is to be read again then. *is_certain*: what was
    acknowledged before and not read yet will be read.
    """

    at: datetime
    again: Mapping[TopicPartition, OffsetRange] = {}
    begun: frozenset[TopicPartition] = frozenset()
    whole: frozenset[TopicPartition] = frozenset()
    is_certain: bool = True


@dataclass(frozen=True)
class CommitBatch:
    """A decoded micro-batch: *records* of all kinds, and of them the *commits* in log order.

    *looked* is what was found out about the logs that they stand in.
    """

    batch_id: int
    looked: Looked
    records: pa.Table
    commits: pa.Table

    @property
    def captured_at(self) -> datetime:
        """The time that every row of it bears."""
        return self.looked.at

    @cached_property
    def keys(self) -> Sequence[GroupPartition]:
        """The key of each commit."""
        columns = (self.commits.column(name).to_pylist() for name in GroupPartition._fields)
        return [GroupPartition(*key) for key in zip(*columns, strict=True)]

    @property
    def timestamp_ms(self) -> Int64s:
        """When the coordinator wrote each commit, by the cluster's clock.

        Of the record, and not of the commit in it: a client of protocol version 1 sends what it likes.
        """
        written: Int64s = self.commits.column("timestamp").cast(pa.int64()).to_numpy() // 1000
        return written

    def with_made(self, made_ms: Int64s) -> CommitBatch:
        """Return the batch with when each commit was made by our clock."""
        return replace(self, commits=self.commits.append_column(MADE, _to_time(pa.array(made_ms))))

    @property
    def commit_records(self) -> CommitRecords:
        """The commits as the state takes them, their keys not looked up yet."""
        commits = self.commits
        is_dated = MADE in commits.column_names
        return CommitRecords(
            key=np.empty(0, np.intp),
            offset=_numbers(commits, "committed_offset"),
            is_tombstone=commits.column("is_tombstone").to_numpy(),
            committed_at_ms=_committed_at_ms(commits),
            made_ms=_numbers(commits, MADE) // 1000 if is_dated else self.timestamp_ms,
            log_partition=_numbers(commits, "log_partition"),
            log_offset=_numbers(commits, "log_offset"),
            topic_id=commits.column("topic_id").to_pylist(),
            leader_epoch=commits.column("leader_epoch").cast(pa.int64()).fill_null(ABSENT).to_numpy(),
        )

    def with_own(self, is_own: NDArray[np.bool_]) -> CommitBatch:
        """Return the batch with whether each commit is one of ours, as rows of the tables have it."""
        return replace(self, commits=self.commits.append_column("is_own", pa.array(is_own)))

    def of_logs(self, logs: Collection[TopicPartition], *, others: bool = False) -> CommitBatch:
        """Return what stands in *logs*, or in all *others*."""
        is_record, is_commit = is_of_logs(self.records, logs), is_of_logs(self.commits, logs)
        if others:
            is_record, is_commit = pc.invert(is_record), pc.invert(is_commit)
        return replace(self, records=self.records.filter(is_record), commits=self.commits.filter(is_commit))

    def of_kind(self, kind: str) -> pa.Table:
        """Return the records of one kind."""
        return self.records.filter(pc.equal(self.records.column("kind"), kind))


def is_of_logs(records: pa.Table, logs: Collection[TopicPartition]) -> pa.ChunkedArray:
    """Return which of the decoded *records* stand in *logs*; those that count what was ignored stand in none."""
    return pc.is_in(records.column("log_partition"), pa.array([each.partition for each in logs], pa.int32()))


def to_batch(decoded: pa.Table, batch_id: int, looked: Looked) -> CommitBatch:
    """Return decoded records as the micro-batch that they are."""
    at = decoded.schema.get_field_index("timestamp")
    records = decoded.set_column(at, DECODED_SCHEMA.field(at), _known_time(decoded.column(at)))
    commits = records.filter(pc.equal(records.column("kind"), "commit"))
    commits = commits.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    return CommitBatch(batch_id, looked, records, commits)


def rows_of(alias: str, batch: CommitBatch) -> dict[Table, pa.Table]:
    """Return what the tables get of *batch*, of which is known which commits are ours."""
    same = {"cluster": alias, "captured_at": batch.captured_at, "seen_at": batch.captured_at}
    of_log = same | {"topic": CONSUMER_OFFSETS}
    places = {"partition": "log_partition", "offset": "log_offset"}
    return {
        QUARANTINE: to_rows(QUARANTINE, batch.of_kind("malformed"), of_log, places),
        GROUP_EVENTS: group_event_rows(alias, batch),
        OFFSET_COMMITS: commit_rows(alias, batch),
    }


def group_event_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return what *batch* says of groups and their members as rows of ``group_events``."""
    same = {"cluster": alias, "captured_at": batch.captured_at}
    return to_rows(GROUP_EVENTS, _group_events(batch), same, {"at": "timestamp"})


def commit_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return the commits of *batch*, of which is known which are ours, as rows of ``offset_commits``."""
    same = {"cluster": alias, "captured_at": batch.captured_at}
    return to_rows(OFFSET_COMMITS, _history(batch.commits), same, {})


def to_rows(table: Table, rows: pa.Table, same: Mapping[str, object], renamed: Mapping[str, str]) -> pa.Table:
    """Return *rows* as *table* wants them: some columns the same in all, some under another name."""
    columns = {}
    for field in table.arrow_schema:
        if field.name in same:
            columns[field.name] = pa.repeat(pa.scalar(same[field.name], field.type), rows.num_rows)
        else:
            columns[field.name] = rows.column(renamed.get(field.name, field.name)).cast(field.type)
    return pa.table(columns)


def _history(commits: pa.Table) -> pa.Table:
    history = commits.append_column("committed_at", _to_time(pa.array(_committed_at_ms(commits))))
    if MADE not in history.column_names:
        history = history.append_column(MADE, pa.nulls(history.num_rows, pa.timestamp("us", tz="UTC")))
    expires_at_ms = pc.min_element_wise(history.column("expires_at_ms"), _LATEST_MS, skip_nulls=False)
    return history.append_column("expires_at", _to_time(expires_at_ms))


def _group_events(batch: CommitBatch) -> pa.Table:
    """Return the records of groups and members; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"} | {kind: kind for kind in BY_LOG_KINDS}
    chosen = batch.records.filter(pc.is_in(batch.records.column("kind"), pa.array(list(names))))
    rows = zip(chosen.column("kind").to_pylist(), chosen.column("is_tombstone").to_pylist(), strict=True)
    kinds = [names[kind] + ("_removed" if is_tombstone else "") for kind, is_tombstone in rows]
    return chosen.set_column(chosen.column_names.index("kind"), "kind", pa.array(kinds, pa.string()))


def _numbers(rows: pa.Table, name: str) -> Int64s:
    """Return a column as int64, ABSENT where it is null (a tombstone has no offset)."""
    numbers: Int64s = rows.column(name).cast(pa.int64()).fill_null(ABSENT).to_numpy()
    return numbers


def _committed_at_ms(commits: pa.Table) -> Int64s:
    """Return the coordinator's commit time; the time its record was written where there is none, as in a tombstone.

    A client may send any number, and one that no calendar has must not stop the stream.
    """
    written_ms = commits.column("timestamp").cast(pa.int64()).to_numpy() // 1000
    committed_ms = _numbers(commits, "committed_at_ms")
    times: Int64s = np.where((committed_ms < 0) | (committed_ms > _LATEST_MS), written_ms, committed_ms)
    return times


def _known_time(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.min_element_wise(times.cast(pa.int64()), _LATEST_MS * 1000, skip_nulls=False).cast(times.type)


def _to_time(milliseconds: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
