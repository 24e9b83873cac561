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
        """Return one request for both, which are of the same kind; its result is the later one's."""
        return replace(later, rows=np.union1d(self.rows, later.rows), failures=(*self.failures, *later.failures))


@dataclass(frozen=True)
class Turn:
    """What a pass has done until the target's limit ended its turn: a line per failure, and the *rest* of the rows."""

    failures: list[str]
    rest: KeyRows
