"""Decodes micro-batches of ``__consumer_offsets`` and appends every record to the tables."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from offset_sync.ingest.checkpoint import Checkpoint, OffsetRanges, Offsets, are_few, ranges_of
from offset_sync.ingest.commit_batch import (
    DECODED_SCHEMA,
    LATEST_MS,
    UNREAD,
    CommitBatch,
    CommitReader,
    Looked,
    committed_at_ms,
    decode_batches,
    is_of_logs,
    to_batch,
    to_time,
)
from offset_sync.ingest.commit_log_check import CommitLogCheck, UnknownVersions
from offset_sync.ingest.kafka_source import COMMITS_PER_TRIGGER, read_by_tasks
from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.key_index import KeyRows
from offset_sync.state.replay import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table, fitted
from offset_sync.tables.rows import with_texts
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


class Reading(NamedTuple):
    """How a query reads: *logs* checks that what was read is still there.

    *incarnations* are those of the commit logs, as the state knows them. *names* map topics to streams.
    """

    logs: CommitLogCheck
    incarnations: CommitLogIncarnations
    names: Names = SAME_NAMES


class Ingester(ABC):
    """Reads and stores the micro-batches of the query of the cluster *alias*, and knows which are in the state."""

    def __init__(
        self, alias: str, tables: TableStore, checkpoint: Checkpoint, incarnations: CommitLogIncarnations
    ) -> None:
        self.alias = alias
        self._tables, self._checkpoint, self._incarnations = tables, checkpoint, incarnations
        self._taken_in: int | None = None  # unknown, so not checked
        self.taking_in = threading.Lock()
        """Held from :meth:`restore_missed` to :meth:`note_taken_in`."""

    @abstractmethod
    def is_whole(self, batch_id: int) -> bool:
        """Return whether a micro-batch reads all that there was when it was planned. Errs to False."""

    @abstractmethod
    def decode(self, records: DataFrame, batch_id: int) -> CommitBatch:
        """Read one micro-batch."""

    @abstractmethod
    def restore_lost(self, state: SyncState, batch: CommitBatch) -> None:
        """Bring *state* up to what the cluster has lost, before *batch* is taken in."""

    def restore_missed(self, state: SyncState, batch_id: int) -> KeyRows:
        """Bring *state* up to *batch_id*, which is next; return the rows that may have changed.

        Micro-batches that another driver took in before it are in the tables, because none is done before that, and
        Spark does not repeat them: all of the cluster's commits are loaded again.
        """
        before = self._taken_in
        if before is None or batch_id <= before + 1:
            return np.empty(0, np.intp)
        logger.warning("clusters.%s: another driver took in %d micro-batches", self.alias, batch_id - before - 1)
        restore_commits(self._tables, state, self._incarnations, [self.alias])
        return state.all_rows()

    def has_all(self, state: SyncState) -> bool:
        """Return whether *state* has all that is done; takes in what an overtaken driver has completed since.

        The next micro-batch would do so too, but an idle log has none. False while one is being taken in.
        """
        if not self.taking_in.acquire(blocking=False):
            return False
        try:
            done = self._checkpoint.last_committed()
            if done is not None and self._taken_in is not None and done > self._taken_in:
                self.restore_missed(state, done + 1)
                self.note_taken_in(done)
            return True
        finally:
            self.taking_in.release()

    def note_taken_in(self, batch_id: int | None) -> None:
        """Note the last micro-batch that is in the state; None: there is none."""
        self._taken_in = -1 if batch_id is None else batch_id

    def write(self, batch: CommitBatch, is_own: NDArray[np.bool_]) -> dict[str, int]:
        """Append *batch* to the tables, once however often it is repeated; return the number of records by kind.

        Kinds: genuine, own (as *is_own* says of each commit), malformed (put in quarantine).
        """
        self._append(batch.with_own(is_own), self._writer(batch))
        return counts(is_own)

    def _writer(self, batch: CommitBatch) -> tuple[str, int]:
        """Return the id by which *batch* is appended once."""
        return f"sync_offsets-{self._checkpoint.query_id()}", batch.batch_id

    def _append(self, batch: CommitBatch, writer: tuple[str, int] | None) -> None:
        for table, rows in rows_of(self.alias, batch).items():
            self._tables.append(table, rows, writer)


class CommitIngester(Ingester):
    """Reads what the query of the cluster *alias* plans of its commit log, by *commits*."""

    def __init__(
        self,
        alias: str,
        tables: TableStore,
        checkpoint: Checkpoint,
        commits: CommitReader,
        clusters: int,
        reading: Reading,
    ) -> None:
        super().__init__(alias, tables, checkpoint, reading.incarnations)
        self._commits, self._clusters = commits, clusters
        self._reading = reading
        self._versions = UnknownVersions(alias)
        self._is_restored = False

    def is_whole(self, batch_id: int) -> bool:
        """Return whether a micro-batch reads all that the logs held when it was planned. Errs to False.

        Spark rounds each partition's share of the limit down, so a full batch may miss one offset of each.
        """
        partitions = len(self._checkpoint.end_offsets(batch_id))
        return self._checkpoint.record_limit(batch_id) < COMMITS_PER_TRIGGER - partitions

    def decode(self, records: DataFrame, batch_id: int) -> CommitBatch:
        """Read one micro-batch; a log whose records have changed meanwhile is re-read.

        The offsets come from the batch's plan; *records*, as Spark would read them, are not read.

        Raises UnknownVersionError if too many commits are of an unknown version to pass them, and ClusterError if not
        all could be read, or if it cannot be verified that what was read is still there.
        """
        ranges = self.ranges(batch_id)
        self._reading.logs.before_reading(batch_id)
        if are_few(self._checkpoint.record_limit(batch_id)):
            decoded = self._commits.table(ranges)
        else:
            decoded = read_by_tasks(self._commits, ranges, records, self._clusters)
        # After reading, and recorded before any row is stored: so the incarnation of each row is known.
        looked = self._reading.logs.look(batch_id)
        batch = to_batch(self._with_streams(self._with_again(decoded, looked)), batch_id, looked)
        self._versions.check(batch.records, batch_id)
        return batch

    def _with_again(self, decoded: pa.Table, looked: Looked) -> pa.Table:
        """Return *decoded* with the present records of the logs to re-read.

        Raises ClusterError if another log was not read to the end of its range: it was not truncated, so there is more.
        """
        if looked.again:
            others = decoded.filter(pc.invert(is_of_logs(decoded, looked.again)))
            decoded = pa.concat_tables([others, self._commits.table(looked.again)])
        unread = decoded.filter(pc.equal(decoded.column("kind"), UNREAD))
        if unread.num_rows:
            raise ClusterError(self.alias, f"{unread.column('error')[0]}: the micro-batch is read once more")
        return decoded

    def _with_streams(self, decoded: pa.Table) -> pa.Table:
        """Return *decoded* with streams in place of topics, which only commits have."""
        if self._reading.names.is_same:
            return decoded
        column = with_texts(decoded.column("topic"), partial(self._reading.names.inside, self.alias))
        return decoded.set_column(decoded.schema.get_field_index("topic"), "topic", column)

    def restore_lost(self, state: SyncState, batch: CommitBatch) -> None:
        """If a log has a new incarnation, reload the cluster's commits into *state* before *batch* is taken in.

        They come from the tables, less what the former incarnations have lost, as at a start. The previous driver may
        have recorded one after the tables were read, so the first micro-batch checks too.
        """
        if not batch.looked.is_certain:
            with state.lock:
                state.offsets.clusters[self.alias].forget_acknowledged(state.now_ms())
        if self._is_restored and not batch.looked.begun:
            return
        self._incarnations.refresh()
        if batch.looked.begun or self._incarnations.is_new(self.alias):
            restore_commits(self._tables, state, self._incarnations, [self.alias])
        self._is_restored = True

    def read_to(self) -> dict[int, int]:
        """Return up to where each partition's records are in the state."""
        before = self._taken_in
        return {} if before is None or before < 0 else _by_partition(self._checkpoint.end_offsets(before))

    def commits_of(self, groups: Collection[str], ranges: OffsetRanges) -> pa.Table:
        """Return the commits of *groups* in *ranges*, and a row of kind ``unread`` for each log not read to its end."""
        wanted = pa.array(groups, pa.string())
        parts = [
            rows.filter(pc.or_(pc.is_in(rows.column("group_id"), wanted), pc.equal(rows.column("kind"), UNREAD)))
            for rows in self._commits.read(ranges)
        ]
        return self._with_streams(pa.Table.from_batches(parts, DECODED_SCHEMA))

    def ranges(self, batch_id: int) -> OffsetRanges:
        """Return what a micro-batch reads."""
        return ranges_of(self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id))

    def forget_plan(self) -> None:
        """Have the micro-batch planned again, which another cluster has planned."""
        self._checkpoint.forget_plan()

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Decode *rows* as those of a micro-batch, and write nothing."""
        records = pa.Table.from_batches(list(decode_batches([rows])), DECODED_SCHEMA)
        batch = to_batch(records, 0, Looked(datetime.now(timezone.utc)))
        commit_rows(self.alias, batch.with_own(np.zeros(batch.commits.num_rows, np.bool_)))

    def write(self, batch: CommitBatch, is_own: NDArray[np.bool_]) -> dict[str, int]:
        """Append *batch*, and what cannot be decoded to quarantine; see :meth:`Ingester.write`."""
        batch, malformed = batch.with_own(is_own), batch.of_kind("malformed")
        if malformed.num_rows:
            logger.warning("clusters.%s: %d records put in quarantine", self.alias, malformed.num_rows)
        if batch.looked.begun:
            # Without an id: if this batch was written before the change was noticed, it would be skipped as a
            # repetition.
            self._append(batch.of_logs(batch.looked.begun), None)
        self._append(batch.of_logs(batch.looked.begun, others=True), self._writer(batch))
        self._reading.logs.was_read_again(batch.looked)
        return counts(is_own) | {"malformed": malformed.num_rows}


def counts(is_own: NDArray[np.bool_]) -> dict[str, int]:
    """Return the number of commits by author, of which none is malformed."""
    own = int(is_own.sum())
    return {"genuine": len(is_own) - own, "own": own, "malformed": 0}


def _by_partition(offsets: Offsets) -> dict[int, int]:
    return {partition: offset for (_, partition), offset in offsets.items()}


def rows_of(alias: str, batch: CommitBatch) -> dict[Table, pa.Table]:
    """Return the rows of *batch* by table; its commits are marked as ours or not."""
    same = {"cluster": alias, "captured_at": batch.looked.at, "seen_at": batch.looked.at}
    malformed, events = batch.of_kind("malformed"), _group_events(batch)
    places = {"partition": malformed.column("log_partition"), "offset": malformed.column("log_offset")}
    return {
        QUARANTINE: _to_rows(QUARANTINE, malformed, same | {"topic": CONSUMER_OFFSETS}, places),
        GROUP_EVENTS: _to_rows(GROUP_EVENTS, events, same, {"at": events.column("timestamp")}),
        OFFSET_COMMITS: commit_rows(alias, batch),
    }


def commit_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return the commits of *batch*, marked as ours or not, as rows of ``offset_commits``."""
    commits, same = batch.commits, {"cluster": alias, "captured_at": batch.looked.at}
    expires_at_ms = pc.min_element_wise(commits.column("expires_at_ms"), LATEST_MS, skip_nulls=False)
    times = {"committed_at": to_time(pa.array(committed_at_ms(commits))), "expires_at": to_time(expires_at_ms)}
    return _to_rows(OFFSET_COMMITS, commits, same, times)


def _to_rows(table: Table, rows: pa.Table, same: Mapping[str, object], more: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return *rows* as rows of *table*, with *more* columns, and some values that are the *same* in all."""
    repeated = {name: pa.repeat(pa.scalar(value), rows.num_rows) for name, value in same.items()}
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return fitted(pa.table({**columns, **more, **repeated}), table.arrow_schema)


def _group_events(batch: CommitBatch) -> pa.Table:
    """Return the records of groups and members; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"}
    chosen = batch.records.filter(pc.is_in(batch.records.column("kind"), pa.array(list(names))))
    rows = zip(chosen.column("kind").to_pylist(), chosen.column("is_tombstone").to_pylist(), strict=True)
    kinds = [names[kind] + ("_removed" if is_tombstone else "") for kind, is_tombstone in rows]
    return chosen.set_column(chosen.column_names.index("kind"), "kind", pa.array(kinds, pa.string()))
