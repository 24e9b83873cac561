"""Micro-batches of ``__consumer_offsets``: decode them, and write down every record that was seen."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from offset_sync.ingest.checkpoint import Checkpoint, Offsets
from offset_sync.ingest.decode_commits import DECODED_SCHEMA, decode_batches
from offset_sync.ingest.kafka_source import CONSUMER_OFFSETS
from offset_sync.ingest.map_batches import map_batches
from offset_sync.ingest.second_reader import ONLY_SPARK, OffsetRanges, RecordsAgain, ranges_of
from offset_sync.ingest.unknown_versions import UnknownVersions
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.key_index import KeyRows
from offset_sync.state.restore import restore_missed
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last that every reader of the tables knows."""


@dataclass(frozen=True)
class CommitBatch:
    """A decoded micro-batch: *records* of all kinds, and of them the *commits* in log order."""

    batch_id: int
    captured_at: datetime
    records: pa.Table
    commits: pa.Table

    @cached_property
    def keys(self) -> Sequence[GroupPartition]:
        """The key of each commit."""
        columns = (self.commits.column(name).to_pylist() for name in GroupPartition._fields)
        return [GroupPartition(*key) for key in zip(*columns, strict=True)]

    @property
    def commit_records(self) -> CommitRecords:
        """The commits as the state takes them, their keys not looked up yet."""
        commits = self.commits
        return CommitRecords(
            key=np.empty(0, np.intp),
            offset=_numbers(commits, "committed_offset"),
            is_tombstone=commits.column("is_tombstone").to_numpy(),
            committed_at_ms=_committed_at_ms(commits),
            log_offset=_numbers(commits, "log_offset"),
            metadata=[text or "" for text in commits.column("metadata").to_pylist()],
            topic_id=commits.column("topic_id").to_pylist(),
        )

    def of_kind(self, kind: str) -> pa.Table:
        """Return the records of one kind."""
        return self.records.filter(pc.equal(self.records.column("kind"), kind))


class CommitIngester:
    """Decodes and writes down what the query of the cluster *alias* reads; *clusters* read side by side.

    *again* reads what Spark cannot.
    """

    def __init__(
        self, alias: str, tables: TableStore, checkpoint: Checkpoint, clusters: int, again: RecordsAgain = ONLY_SPARK
    ) -> None:
        self.alias = alias
        self._tables = tables
        self._checkpoint = checkpoint
        self._clusters = clusters
        self._again = again
        self._versions = UnknownVersions(alias, CONSUMER_OFFSETS)
        self._taken_in: int | None = None  # not known, and not looked at

    def note_taken_in(self, batch_id: int | None) -> None:
        """Note the last micro-batch that is in the state; None: not one is."""
        self._taken_in = -1 if batch_id is None else batch_id

    def restore_missed(self, state: SyncState, batch_id: int) -> KeyRows:
        """Bring *state* up to *batch_id*, which is next; return the rows of what another driver took in before it.

        Its micro-batches are in the tables, for none is done before, and they do not come again.
        """
        before = self._taken_in
        if before is None or batch_id <= before + 1:
            return np.empty(0, np.intp)
        logger.warning("clusters.%s: another driver took in %d micro-batches", self.alias, batch_id - before - 1)
        try:
            since = self._checkpoint.end_offsets(before) if before >= 0 else {}
        except FileNotFoundError:  # cleaned up: so many were they
            since = {}
        until = self._checkpoint.start_offsets(batch_id)
        return restore_missed(self._tables, state, self.alias, _by_partition(since), _by_partition(until))

    def decode(self, records: DataFrame, batch_id: int) -> CommitBatch:
        """Decode one micro-batch.

        Raises UnknownVersionError where so many commits are of an unknown version that none may be passed.
        """
        at_most = self._checkpoint.record_limit(batch_id)
        by_spark = partial(map_batches, records, decode_batches, DECODED_SCHEMA, self._clusters, at_most)
        decoded = self._again.map(by_spark, decode_batches, DECODED_SCHEMA, partial(self.ranges, batch_id))
        batch = _to_batch(decoded, batch_id)
        self._versions.check(batch.records)
        return batch

    def ranges(self, batch_id: int) -> OffsetRanges:
        """Return what a micro-batch reads."""
        return ranges_of(self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id))

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Decode *rows* as those of a micro-batch, and write nothing."""
        records = pa.Table.from_batches(list(decode_batches([rows])), DECODED_SCHEMA)
        batch = _to_batch(records, 0)
        commit_rows(self.alias, batch, np.zeros(batch.commits.num_rows, np.bool_))

    def write(self, batch: CommitBatch, is_own: NDArray[np.bool_]) -> dict[str, int]:
        """Append *batch* to the tables, once however often it comes; return how many records of which kind it had.

        Kinds: genuine, own (as *is_own* says of each commit), malformed (put in quarantine).
        """
        writer = (f"sync_offsets-{self._checkpoint.query_id()}", batch.batch_id)
        malformed = batch.of_kind("malformed")
        if malformed.num_rows:
            logger.warning("clusters.%s: %d records put in quarantine", self.alias, malformed.num_rows)
        ignored = pc.sum(batch.of_kind("ignored").column("records")).as_py()
        if ignored:
            logger.info("clusters.%s: %d records of other types ignored", self.alias, ignored)
        same = {"cluster": self.alias, "captured_at": batch.captured_at, "seen_at": batch.captured_at}
        of_log = same | {"topic": CONSUMER_OFFSETS}
        places = {"partition": "log_partition", "offset": "log_offset"}
        self._tables.append(QUARANTINE, _to_rows(QUARANTINE, malformed, of_log, places), writer)
        self._tables.append(
            GROUP_EVENTS, _to_rows(GROUP_EVENTS, _group_events(batch), same, {"at": "timestamp"}), writer
        )
        self._tables.append(OFFSET_COMMITS, commit_rows(self.alias, batch, is_own), writer)
        own = int(is_own.sum())
        return {"genuine": len(is_own) - own, "own": own, "malformed": malformed.num_rows}


def _by_partition(offsets: Offsets) -> dict[int, int]:
    return {partition: offset for (_, partition), offset in offsets.items()}


def _to_batch(decoded: pa.Table, batch_id: int) -> CommitBatch:
    at = decoded.schema.get_field_index("timestamp")
    records = decoded.set_column(at, DECODED_SCHEMA.field(at), _known_time(decoded.column(at)))
    commits = records.filter(pc.equal(records.column("kind"), "commit"))
    commits = commits.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    return CommitBatch(batch_id, datetime.now(timezone.utc), records, commits)


def commit_rows(alias: str, batch: CommitBatch, is_own: NDArray[np.bool_]) -> pa.Table:
    """Return the commits of *batch* as rows of ``offset_commits``."""
    same = {"cluster": alias, "captured_at": batch.captured_at}
    return _to_rows(OFFSET_COMMITS, _history(batch, is_own), same, {})


def _to_rows(table: Table, rows: pa.Table, same: dict[str, object], renamed: dict[str, str]) -> pa.Table:
    """Return *rows* as *table* wants them: some columns the same in all, some under another name."""
    columns = {}
    for field in table.arrow_schema:
        if field.name in same:
            columns[field.name] = pa.repeat(pa.scalar(same[field.name], field.type), rows.num_rows)
        else:
            columns[field.name] = rows.column(renamed.get(field.name, field.name)).cast(field.type)
    return pa.table(columns)


def _history(batch: CommitBatch, is_own: NDArray[np.bool_]) -> pa.Table:
    history = batch.commits.append_column("is_own", pa.array(is_own))
    history = history.append_column("committed_at", _to_time(pa.array(_committed_at_ms(batch.commits))))
    expires_at_ms = pc.min_element_wise(history.column("expires_at_ms"), _LATEST_MS, skip_nulls=False)
    return history.append_column("expires_at", _to_time(expires_at_ms))


def _group_events(batch: CommitBatch) -> pa.Table:
    """Return the records that say who is active; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"}
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
