"""How long commits take to their targets, and since when a target has lacked one: from reconciliation to the next."""

from __future__ import annotations

import threading

import numpy as np

from offset_sync.model.values import ABSENT, Outcome
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.status.staleness import StalenessTracker
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.translate.index.runs import Int64s

HAS_IT = np.array([each in (Outcome.COMMITTED, Outcome.UNCHANGED, Outcome.NOT_FORWARD) for each in Outcome])
"""True for outcomes after which the target lacks nothing: it holds the translation, or a genuine commit further on."""


class CommitLatency:
    """Of one pair of clusters; threads may share it.

    Errs to the large side: a commit that no reconciliation has answered yet counts as lacking since it was made.
    """

    def __init__(self) -> None:
        self._tracker = StalenessTracker()
        self._held = ColumnStore({"committed_at_ms": ABSENT})  # the newest commit that the target is known to have had
        self._lock = threading.Lock()

    def restore(self, pair: LastTranslations) -> None:
        """Take over what the last driver has answered; what it has seen at the target is not lacking."""
        answered = pair.columns
        with self._lock:
            self._held.fit(len(answered["outcome"]))
            keys = np.flatnonzero((answered["outcome"] >= 0) & HAS_IT[answered["outcome"]])
            self._held["committed_at_ms"][keys] = answered["source_at_ms"][keys]

    def note(self, reconciliation: Reconciliation) -> Int64s:
        """Take in what became of commits; return how many milliseconds each that has arrived just now took.

        A commit that the target had before and has no more, or may not have, is lacking since that was found.
        """
        translated = reconciliation.translated
        key, at_ms = translated.commits.key, translated.commits.at_ms
        has_it = HAS_IT[reconciliation.outcome]
        with self._lock:
            self._held.fit(int(key.max(initial=-1)) + 1)
            held_at_ms = self._held["committed_at_ms"]
            is_new = held_at_ms[key] != at_ms
            self._tracker.observe(key, ~has_it, np.where(is_new, at_ms, translated.translated_at_ms))
            held_at_ms[key[has_it]] = at_ms[has_it]
        arrived = at_ms[has_it & is_new & (reconciliation.outcome == Outcome.COMMITTED)]
        took: Int64s = np.maximum(reconciliation.committed_at_ms - arrived, 0)
        return took

    def since_ms(self, key: KeyRows) -> Int64s:
        """Return since when each of *key* is lacking, :data:`ABSENT` where none is; forget it of all other keys.

        They have another owner now: if they come back, their next commit counts anew.
        """
        with self._lock:
            self._tracker.keep_only(key)
            return self._tracker.since_ms(key)
