"""Appends answers and outcomes to ``offset_translations``, after the commits and never before them.

A reconciliation is queued and appended together with others, so that ten passes cost one append. A crash loses at most
the queue; the reconcile pass of the next driver finds the same state and records it again.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import TakenOverError
from offset_sync.model.text import one_line
from offset_sync.model.values import ABSENT, GroupPartition, Outcome, State
from offset_sync.state import failpoints
from offset_sync.state.group_homes import clusters_text
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.definition import fitted
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition import IS_WITHHELD

logger = logging.getLogger(__name__)
MOST_ROWS_KEPT = 1_000_000
_TIME = pa.timestamp("ms", tz="UTC")


class TranslationHistory:
    """Appends reconciliations to *tables* in a thread of its own; failed rows are retried with the next.

    *keys* are those of the state. ``error`` says how many rows are not in the table yet, and why; None when all are.
    """

    def __init__(self, tables: TableStore, keys: Sequence[GroupPartition], config: Config) -> None:
        self._tables, self._keys, self._config = tables, keys, config
        self._queue: queue.SimpleQueue[pa.Table | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)
        self._thread.start()
        self.error: str | None = None

    def append(self, reconciliation: Reconciliation) -> None:
        """Queue its rows: all of a micro-batch, of a reconcile pass only new results."""
        is_recorded: NDArray[np.bool_] = reconciliation.is_news | (reconciliation.batch_id is not None)
        if is_recorded.any():
            recorded = np.flatnonzero(is_recorded)
            self._queue.put(to_rows(reconciliation, recorded, self._keys, self._config))

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
                # Limit the backlog while the table cannot be written.
                unwritten = [rows.slice(max(0, rows.num_rows - MOST_ROWS_KEPT))]

    def _has_appended(self, rows: pa.Table) -> bool:
        failpoints.failpoint(failpoints.BEFORE_HISTORY)
        try:
            self._tables.append(OFFSET_TRANSLATIONS, rows)
        except Exception as problem:
            self.error = f"offset_translations: {rows.num_rows} rows not written: {one_line(problem)}"
            if not isinstance(problem, TakenOverError):  # the job is stopping then, and says why
                logger.exception("%s", self.error)
            return False
        self.error = None
        return True


def to_rows(
    reconciliation: Reconciliation,
    chosen: NDArray[np.intp],
    keys: Sequence[GroupPartition],
    config: Config,
) -> pa.Table:
    """Return the *chosen* rows of a reconciliation as rows of offset_translations, ``topic`` being the stream."""
    strategy_of, clusters = cache(config.strategy_of), list(config.clusters)
    translated, answers, count = reconciliation.translated, reconciliation.translated.answers, len(chosen)
    commits = translated.commits
    key = [keys[one] for one in commits.key[chosen].tolist()]
    outcome = reconciliation.outcome[chosen]
    is_withheld = IS_WITHHELD[answers.state[chosen]]
    is_committed, written = outcome == Outcome.COMMITTED, reconciliation.written[chosen]
    previous = reconciliation.previous[chosen]
    streams, target = [topic for _, topic, _ in key], translated.target
    columns = {
        "source_cluster": pa.repeat(translated.source, count),
        "target_cluster": pa.repeat(translated.target, count),
        "group_id": pa.array([group_id for group_id, _, _ in key], pa.string()),
        "topic": pa.array(streams, pa.string()),
        "partition": pa.array([partition for _, _, partition in key], pa.int32()),
        "source_offset": pa.array(commits.offset[chosen]),
        "source_committed_at": pa.array(commits.at_ms[chosen], _TIME, mask=commits.at_ms[chosen] == ABSENT),
        # A withheld key may still have been refreshed.
        "target_offset": pa.array(np.maximum(answers.wanted[chosen], written), mask=is_withheld & (written < 0)),
        "previous_target_offset": pa.array(previous, mask=previous < 0),
        "strategy": pa.array([strategy_of(each) for each in streams], pa.string()),
        "state": pa.array([State(code).name for code in reconciliation.plan.state[chosen].tolist()], pa.string()),
        "duplicates": pa.array(answers.duplicates[chosen], mask=is_withheld),
        "duplicates_at_most": pa.array(answers.duplicates_at_most[chosen], mask=is_withheld),
        "lost": pa.array(answers.lost[chosen], mask=is_withheld),
        "timestamp_disordered": pa.array(answers.is_disordered[chosen]),
        "outcome": pa.array([Outcome(code).name for code in outcome.tolist()], pa.string()),
        "error": pa.array([reconciliation.error.get(row) for row in chosen.tolist()], pa.string()),
        "batch_id": pa.repeat(pa.scalar(reconciliation.batch_id, pa.int64()), count),
        "translated_at": pa.array(np.full(count, translated.translated_at_ms), _TIME),
        "committed_at": pa.array(np.full(count, reconciliation.committed_at_ms), _TIME, mask=~is_committed),
        "stream": pa.array(streams, pa.string()),
        "target_topic": pa.array([config.names.topic(target, each) for each in streams], pa.string()),
        "skipped": pa.array([reconciliation.skipped.get(row) for row in chosen.tolist()], pa.int64()),
        "members": pa.array([clusters_text(code, clusters) for code in reconciliation.members[chosen].tolist()]),
        "contest": [clusters_text(code, clusters) or None for code in reconciliation.contest[chosen].tolist()],
    }
    return fitted(pa.table(columns), OFFSET_TRANSLATIONS.arrow_schema)
