"""One micro-batch of one cluster's ``__consumer_offsets``, from bytes to committed translations."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from offset_sync.ingest.commit_batch import CommitBatch
from offset_sync.ingest.commit_ingester import CommitIngester
from offset_sync.ingest.mirror_commits import Seen
from offset_sync.jobs.metrics.sync_collector import SyncMetrics
from offset_sync.model.values import CLOCKS_APART_MS, GroupPartition
from offset_sync.state import failpoints
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Recorded, SyncState
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)


class BatchReconciler(Protocol):
    """Who brings the targets up to date, see :class:`offset_sync.sync.reconciler.Reconciler`."""

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        """Reconcile what *source* committed; return one line per failure."""


def after(first: Callable[[], None], batch: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
    """Return *batch* with *first* done before it, when the records of the micro-batch are in their log already."""

    def both(records: DataFrame, batch_id: int) -> None:
        first()
        batch(records, batch_id)

    return both


class SyncBatch:
    """Takes in the micro-batches of one cluster's query, which may come again at any point.

    Until *is_ready* is set commits are only remembered: whose commit counts is not known before every cluster's log has
    been read.
    """

    def __init__(
        self,
        ingester: CommitIngester,
        state: SyncState,
        reconciler: BatchReconciler,
        metrics: SyncMetrics,
        is_ready: threading.Event,
    ) -> None:
        self._ingester, self._alias = ingester, ingester.alias
        self._state = state
        self._reconciler = reconciler
        self._metrics = metrics
        self._is_ready = is_ready
        self._beside = ThreadPoolExecutor(1, thread_name_prefix=f"history {self._alias}")
        self._last: tuple[int, Int64s, Recorded] | None = None
        self.is_urgent = True
        """Whether the last micro-batch brought what targets wait for, or its log is on the way to being read."""

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Decode, record, reconcile, and write down what was seen."""
        with self._metrics.batch(self._alias):
            with self._ingester.taking_in:
                missed = self._ingester.restore_missed(self._state, batch_id)
                batch = self._ingester.decode(records, batch_id)
                self._ingester.restore_lost(self._state, batch)
                recorded = self._record(batch)
                self._ingester.note_taken_in(batch_id)
            # Beside the reconciling, for both mostly wait. The batch ends when both have, and comes again if one fails.
            history = self._beside.submit(self._ingester.write, batch, recorded.is_own)
            try:
                rows = np.concatenate((missed, recorded.genuine))
                self.is_urgent = len(rows) > 0 or not self._is_ready.is_set()
                if self._is_ready.is_set():
                    for failure in self._reconciler.reconcile_batch(self._alias, rows, batch_id):
                        logger.warning("%s", failure)
            finally:
                counts = history.result()
            self._metrics.count_records(self._alias, counts)
            failpoints.failpoint(failpoints.AFTER_HISTORY)

    def _record(self, batch: CommitBatch) -> Recorded:
        records, last = batch.commit_records, self._last
        recorded = self._state.record(self._alias, batch.keys, records, self._is_copied(batch.keys, records))
        if last is not None and last[0] == batch.batch_id and np.array_equal(last[1], records.log_offset):
            # It failed and comes again: which commits are ours was known then, and is forgotten since.
            return last[2]
        self._last = batch.batch_id, records.log_offset, recorded
        return recorded

    def _is_copied(self, keys: Sequence[GroupPartition], records: CommitRecords) -> NDArray[np.bool_]:
        """Return which of *records* a mirror's group sync has written; the state's lock is not held while it asks."""
        state = self._state
        ahead_ms = state.offsets.clusters[self._alias].clock_offset.at_most(CLOCKS_APART_MS)
        seen = Seen(self._alias, state.is_foreign(self._alias, keys, records), state.standing, ahead_ms)
        return self._ingester.mirrors.of(keys, records, seen)
