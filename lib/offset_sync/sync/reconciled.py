"""The result of a reconcile pass of one direction, and what it needs to write and to record it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, WriteOutcome
from offset_sync.sync.read_lists import GONE_BACK
from offset_sync.sync.write_plan import Translated, WritePlan
from offset_sync.translate.index.runs import Int64s

_FAILED = int(Outcome.FAILED)


@dataclass(frozen=True)
class Reconciliation:
    """Translations from one source to one target and their outcomes, a row per key; see offset_translations.

    *previous* is the target's offset before, ABSENT for none, *written* the acknowledged one, ABSENT where nothing was
    written; *error* has the failed rows, *skipped* how many records are on a read list. *members* and *contest* are
    clusters, see :meth:`SyncState.shown`.
    """

    translated: Translated
    plan: WritePlan
    batch_id: int | None
    committed_at_ms: int
    previous: Int64s
    written: Int64s
    outcome: NDArray[np.intp]
    error: Mapping[int, str]
    is_news: NDArray[np.bool_]
    members: Int64s
    contest: Int64s
    skipped: Mapping[int, int] = field(default_factory=dict)

    def failures(self, keys: Sequence[GroupPartition]) -> list[str]:
        """Return one line per distinct reason of failure; *keys* are those of the state."""
        by_reason: dict[str, list[int]] = {}
        for row in np.flatnonzero(self.outcome == _FAILED).tolist():
            by_reason.setdefault(self.error.get(row, "no reason given"), []).append(row)
        by_reason.pop(GONE_BACK, None)
        moved, key = self.translated, self.translated.commits.key
        return [
            f"{moved.source} to {moved.target}: {len(rows)} offsets not committed, "
            f"first {'/'.join(map(str, keys[int(key[rows[0]])]))}: {reason}"
            for reason, rows in by_reason.items()
        ]


class OffsetWriter(Protocol):
    """Commits at one target, see :class:`offset_sync.sync.offset_writer.TargetWriter`."""

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; none raises and none is left out."""


class ReconciliationLog(Protocol):
    """Records the outcomes of translations, see ``sync.translation_history``."""

    def append(self, reconciliation: Reconciliation) -> None:
        """Queue it; must not wait for a table."""
