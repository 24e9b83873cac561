"""Answers and outcomes into ``offset_translations``, behind the commits and never in front of them.

A settlement is queued and appended together with whatever else is waiting, so that ten passes cost one append. A
crash loses at most what is queued; the reconcile pass of the next driver finds the same state and says so again.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from offset_sync.model.values import Outcome, State
from offset_sync.state.committed_offsets import Key
from offset_sync.state.key_index import KeyRows
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.translate.partition import IS_WITHHELD

logger = logging.getLogger(__name__)
MOST_ROWS_KEPT = 1_000_000
_TIME = pa.timestamp("ms", tz="UTC")


class TranslationHistory:
    """Appends settlements in a thread of its own; rows that *append* refuses are tried again with the next ones.

    *error* says how many rows are not in the table yet, and why; None when all are.
    """

    def __init__(
        self, append: Callable[[pa.Table], None], keys: Sequence[Key], strategy_of: Callable[[str], str]
    ) -> None:
        self._append = append
        self._keys = keys
        self._strategy_of = strategy_of
        self._queue: queue.SimpleQueue[pa.Table | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()
        self.error: str | None = None

    def record(self, reconciliation: Reconciliation) -> None:
        """Queue what *settlement* has to say: everything in a micro-batch, only news when reconciling."""
        chosen = (
            np.arange(len(reconciliation.key))
            if reconciliation.batch_id is not None
            else np.flatnonzero(reconciliation.is_news)
        )
        if len(chosen):
            self._queue.put(to_rows(reconciliation, chosen, self._keys, self._strategy_of))

    def close(self) -> None:
        """Write what is queued, then end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open, unwritten = True, list[pa.Table]()
        while is_open:
            waiting = [self._queue.get()]
            while not self._queue.empty():
                waiting.append(self._queue.get())
            is_open = None not in waiting
            unwritten += [table for table in waiting if table is not None]
            if unwritten and self._has_appended(rows := pa.concat_tables(unwritten)):
                unwritten = []
            elif unwritten:
                # A table that cannot be written for long must not take all the memory.
                unwritten = [rows.slice(max(0, rows.num_rows - MOST_ROWS_KEPT))]

    def _has_appended(self, rows: pa.Table) -> bool:
        try:
            self._append(rows)
        except Exception as problem:
            reason = next(iter(str(problem).splitlines()), type(problem).__name__)
            self.error = f"offset_translations: {rows.num_rows} rows not written: {reason}"
            logger.exception("%s", self.error)
            return False
        self.error = None
        return True


def to_rows(
    reconciliation: Reconciliation, chosen: KeyRows, keys: Sequence[Key], strategy_of: Callable[[str], str]
) -> pa.Table:
    """Return the *chosen* rows of a settlement as rows of offset_translations."""
    answers, count = reconciliation.answers, len(chosen)
    key = [keys[one] for one in reconciliation.key[chosen].tolist()]
    outcome = reconciliation.outcome[chosen]
    is_withheld = IS_WITHHELD[answers.state[chosen]]
    is_committed = outcome == Outcome.COMMITTED
    previous = reconciliation.previous[chosen]
    columns = {
        "source_cluster": pa.repeat(reconciliation.source, count),
        "target_cluster": pa.repeat(reconciliation.target, count),
        "group_id": pa.array([group_id for group_id, _, _ in key], pa.string()),
        "topic": pa.array([topic for _, topic, _ in key], pa.string()),
        "partition": pa.array([partition for _, _, partition in key], pa.int32()),
        "source_offset": pa.array(reconciliation.source_offset[chosen]),
        "source_committed_at": pa.array(reconciliation.source_at_ms[chosen], _TIME),
        "target_offset": pa.array(answers.wanted[chosen], mask=is_withheld),
        "previous_target_offset": pa.array(previous, mask=previous < 0),
        "strategy": pa.array([strategy_of(topic) for _, topic, _ in key], pa.string()),
        "state": pa.array([State(code).name for code in reconciliation.plan.state[chosen].tolist()], pa.string()),
        "duplicates": pa.array(answers.duplicates[chosen], mask=is_withheld),
        "duplicates_at_most": pa.array(answers.duplicates_at_most[chosen], mask=is_withheld),
        "lost": pa.array(answers.lost[chosen], mask=is_withheld),
        "timestamp_disordered": pa.array(answers.is_disordered[chosen]),
        "outcome": pa.array([Outcome(code).name for code in outcome.tolist()], pa.string()),
        "error": pa.array([reconciliation.error.get(row) for row in chosen.tolist()], pa.string()),
        "batch_id": pa.repeat(pa.scalar(reconciliation.batch_id, pa.int64()), count),
        "translated_at": pa.array(np.full(count, reconciliation.translated_at_ms), _TIME),
        "committed_at": pa.array(np.full(count, reconciliation.committed_at_ms), _TIME, mask=~is_committed),
    }
    return pa.table(columns).select(OFFSET_TRANSLATIONS.names).cast(OFFSET_TRANSLATIONS.arrow_schema)
