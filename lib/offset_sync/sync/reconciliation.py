"""What is asked of a pass over one source and target, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import Outcome
from offset_sync.state.committed_offsets import Key
from offset_sync.state.key_index import KeyRows
from offset_sync.sync.write_plan import WritePlan
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations


@dataclass(frozen=True)
class ReconcileRequest:
    """What to settle: *keys* of one *source*'s micro-batch, or (None) all keys of all sources that are not settled.

    *is_waiting*: of all sources those *keys* whose answer the index held back.
    """

    keys: KeyRows | None
    source: str | None
    batch_id: int | None
    is_first: bool = False
    is_waiting: bool = False


@dataclass(frozen=True)
class Reconciliation:
    """Answers from one source to one target and what became of them, one row per key; see offset_translations."""

    source: str
    target: str
    batch_id: int | None
    translated_at_ms: int
    committed_at_ms: int
    key: KeyRows
    source_offset: Int64s
    source_at_ms: Int64s
    answers: Translations
    plan: WritePlan
    previous: Int64s
    outcome: NDArray[np.intp]
    error: Mapping[int, str]
    is_news: NDArray[np.bool_]

    def failures(self, keys: Sequence[Key]) -> list[str]:
        """Return one line per distinct reason why something could not be done."""
        by_reason: dict[str, list[int]] = {}
        for row in np.flatnonzero(self.outcome == Outcome.FAILED).tolist():
            by_reason.setdefault(self.error.get(row, "no reason given"), []).append(row)
        return [
            f"{self.source} to {self.target}: {len(rows)} offsets not committed, "
            f"first {'/'.join(map(str, keys[int(self.key[rows[0]])]))}: {reason}"
            for reason, rows in by_reason.items()
        ]
