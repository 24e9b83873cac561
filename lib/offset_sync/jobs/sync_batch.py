"""One micro-batch of one cluster's ``__consumer_offsets``, from bytes to committed translations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame

from offset_sync.ingest.commit_batch import CommitBatch, changed_logs
from offset_sync.ingest.commit_ingester import Ingester
from offset_sync.model.values import ABSENT
from offset_sync.state import failpoints
from offset_sync.state.cluster_clock import Read
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Recorded, SyncState


class SyncBatch:
    """Processes the micro-batches of one cluster's query, any of which may be retried.

    *reconcile* is :meth:`offset_sync.sync.reconciler.Reconciler.reconcile_batch`, which does not wait.
    Until *is_ready* is set commits are only recorded: the homes of groups are unknown until every cluster's log has
    been read.
    """

    def __init__(
        self,
        ingester: Ingester,
        state: SyncState,
        reconcile: Callable[[str, KeyRows, int], None],
        is_ready: threading.Event,
    ) -> None:
        self._ingester, self._alias = ingester, ingester.alias
        self._state = state
        self._reconcile, self._is_ready = reconcile, is_ready
        self._last: tuple[int, CommitRecords, Recorded] | None = None
        self._ended_ms = ABSENT, ABSENT  # when the last two micro-batches ended
        self._reads_on = False  # the last one read up to the log's end
        self._dated = -1, False  # the last one that was dated, and whether the one before it read up to the end

    def __call__(self, records: DataFrame, batch_id: int) -> Mapping[str, int]:
        """Decode, record, reconcile, and append the commits to the history; return how many records of each kind."""
        with self._ingester.taking_in:
            missed = self._ingester.restore_missed(self._state, batch_id)
            batch = self._as_read_now(self._ingester.decode(records, batch_id))
            self._ingester.restore_lost(self._state, batch)
            batch = self._with_times(batch)
            recorded = self._record(batch)
            self._ingester.note_taken_in(batch_id)
        if self._is_ready.is_set():
            rows = np.concatenate((missed, recorded.genuine))
            self._reconcile(self._alias, rows, batch_id)
        # Beside the passes: the micro-batch ends when its commits are in the history, and is retried if that fails.
        counts = self._ingester.write(batch, recorded.is_own)
        with self._state.lock:
            self._state.offsets.clusters[self._alias].own_writes.note_recorded()
        self._ended_ms = self._ended_ms[1], self._state.now_ms()
        failpoints.failpoint(failpoints.AFTER_HISTORY)
        return counts

    def note_start(self) -> None:
        """Note that the query is started, maybe with more partitions: its first records may be as old as the log.

        Its first micro-batch may have been planned long ago, by a driver that has been taken over since.
        """
        self._reads_on, self._dated, self._ended_ms = False, (self._dated[0], False), (ABSENT, ABSENT)

    def _as_read_now(self, batch: CommitBatch) -> CommitBatch:
        """Return *batch*; a retry whose logs have other records than before has nothing left of the first try.

        These logs were truncated meanwhile, so they count as begun again.
        """
        if self._last is None or self._last[0] != batch.batch_id:
            return batch
        with self._state.lock:
            rows = self._state.offsets.ids(batch.keys)
        if changed := changed_logs(before := self._last[1], batch.commit_records.with_key(rows)):
            self._last = None
            with self._state.lock:
                mine = self._state.offsets.clusters[self._alias]
                mine.forget_read(before.key)
                mine.own_writes.forget_matches(self._state.now_ms())
            return replace(batch, looked=batch.looked._replace(begun=batch.looked.begun | changed))
        return batch

    def _record(self, batch: CommitBatch) -> Recorded:
        records = batch.commit_records
        recorded = self._state.record(self._alias, batch.keys, records)
        if self._last is not None and self._last[0] == batch.batch_id:
            # A retry: own writes were matched in the first run, and are no longer known.
            return self._last[2]
        self._last = batch.batch_id, records.with_key(recorded.rows), recorded
        return recorded

    def _with_times(self, batch: CommitBatch) -> CommitBatch:
        """Return *batch* with the times of its commits by our clock.

        They are not before the end of the micro-batch before the last one: the last one was planned after that, and
        read up to the log's end. A retried micro-batch keeps its times.
        """
        if batch.is_polled:
            return batch.with_made(batch.timestamp_ms)
        if batch.batch_id != self._dated[0]:
            self._dated = batch.batch_id, self._reads_on
            self._reads_on = self._ingester.is_whole(batch.batch_id)
        is_live = self._dated[1] and not batch.looked.again
        read = Read(self._state.now_ms(), self._ended_ms[0] if is_live else ABSENT)
        return batch.with_made(self._state.made_ms(self._alias, batch.timestamp_ms, read))
