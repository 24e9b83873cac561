"""What a reconcile pass is asked to do, and what one turn of it has done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from offset_sync.state.key_index import KeyRows


class Selection(Enum):
    """Which of the requested rows are reconciled."""

    EVERY = auto()  # all, whatever was answered before; every target is read
    DECIDED = auto()  # the same, by a command: the target is set to the answer, even over the value of others
    CHANGED = auto()  # all: those of a micro-batch
    UNSETTLED = auto()  # those whose answer may have changed
    DUE = auto()  # all: unsettled ones, left over by the limit of a target
    WAITING = auto()  # those whose answer waited for the index


@dataclass(frozen=True)
class ReconcileRequest:
    """Reconcile *selection* of *rows* where the source of the direction owns them; *batch_id*: of a micro-batch.

    *failures* are the lines of its turns before.
    """

    selection: Selection
    rows: KeyRows
    batch_id: int | None = None
    failures: tuple[str, ...] = ()

    def joined(self, later: ReconcileRequest) -> ReconcileRequest:
        """Return one request for both, which are of the same kind, the earlier rows first."""
        rows = np.concatenate([self.rows, later.rows[~np.isin(later.rows, self.rows)]])
        return replace(later, rows=rows, failures=(*self.failures, *later.failures))

    def rest(self, rows: KeyRows) -> ReconcileRequest | None:
        """Return the request for the *rows* that a turn has left over, None for none."""
        selection = Selection.DUE if self.selection is Selection.UNSETTLED else self.selection
        return replace(self, selection=selection, rows=rows, failures=()) if len(rows) else None


@dataclass(frozen=True)
class Turn:
    """What a pass has done until the target's limit ended its turn: a line per failure, and the *rest* to do."""

    failures: list[str]
    rest: ReconcileRequest | None = None
