"""Since when a target has not had a commit's translation, kept from reconciliation to reconciliation."""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, Outcome
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.translate.index.runs import Int64s

HAS_IT = np.array([each in (Outcome.COMMITTED, Outcome.UNCHANGED, Outcome.NOT_FORWARD) for each in Outcome])
"""True for outcomes after which the target lacks nothing: it holds the translation, or a genuine commit further on."""
_COMMITTED = Outcome.COMMITTED


class Waiting:
    """Of one pair. Errs to the large side: what no reconciliation has answered yet waits since it was committed."""

    def __init__(self) -> None:
        self._columns = ColumnStore({"held_at_ms": ABSENT, "since_ms": ABSENT})
        self._lock = threading.Lock()

    def restore(self, pair: LastTranslations) -> None:
        """Take over what the last driver has said; nothing waits that it has seen at the target."""
        answered, column = pair.columns, self._columns
        with self._lock:
            column.fit(len(answered["outcome"]))
            held = np.flatnonzero((answered["outcome"] >= 0) & HAS_IT[answered["outcome"]])
            column["held_at_ms"][held] = answered["source_at_ms"][held]

    def note(self, reconciliation: Reconciliation) -> Int64s:
        """Take in what became of commits; return how many milliseconds each that has arrived just now took.

        A commit that the target had before and has no more, or may not have, waits since that was found.
        """
        translated, column = reconciliation.translated, self._columns
        key, at_ms = translated.commits.key, translated.commits.at_ms
        has_it = HAS_IT[reconciliation.outcome]
        with self._lock:
            column.fit(int(key.max(initial=-1)) + 1)
            is_new = column["held_at_ms"][key] != at_ms
            before = column["since_ms"][key]
            began = np.where(before >= 0, before, np.where(is_new, at_ms, translated.translated_at_ms))
            column["since_ms"][key] = np.where(has_it, ABSENT, began)
            column["held_at_ms"][key[has_it]] = at_ms[has_it]
        arrived = at_ms[has_it & is_new & (reconciliation.outcome == _COMMITTED)]
        took: Int64s = np.maximum(reconciliation.committed_at_ms - arrived, 0)
        return took

    def since_ms(self, key: KeyRows) -> Int64s:
        """Return since when each of *key* waits, ABSENT where nothing does; forget it of all other keys.

        They have another owner now: if they come back, their next commit begins to wait anew.
        """
        with self._lock:
            self._columns.fit(int(key.max(initial=-1)) + 1)
            since = self._columns["since_ms"]
            is_other: NDArray[np.bool_] = np.ones(len(since), np.bool_)
            is_other[key] = False
            since[is_other] = ABSENT
            return since[key].copy()
