"""Copies that are read but not decided yet, with the originals that each may have had when it was read."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s


@dataclass(frozen=True)
class Pending:
    """Copies by ascending *offset*; shapes (copies,).

    The original of each lies in ``[from_original, to_original)`` of its log: at or above the oldest one that the
    mirror may send again, and below the log's end as it was after the copy was read. *count* originals there have the
    same *fingerprint*, from *least* to *greatest*. *read_ms* is when the copy was read.
    """

    offset: Int64s
    fingerprint: Int64s
    count: Int64s
    least: Int64s
    greatest: Int64s
    from_original: Int64s
    to_original: Int64s
    read_ms: Int64s

    @classmethod
    def none(cls) -> Pending:
        """Return no copies."""
        return cls(*np.empty((len(_COLUMNS), 0), np.int64))

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def is_unique(self) -> NDArray[np.bool_]:
        """Which copies can be of one original only."""
        found: NDArray[np.bool_] = self.count == 1
        return found

    def take(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Pending:
        """Return the chosen copies."""
        return Pending(*(getattr(self, name)[rows] for name in _COLUMNS))

    def followed_by(self, others: Pending) -> Pending:
        """Return both."""
        if len(self) == 0:
            return others
        return Pending(*(np.concatenate((getattr(self, name), getattr(others, name))) for name in _COLUMNS))


_COLUMNS = [field.name for field in fields(Pending)]
