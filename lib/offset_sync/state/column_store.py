"""Named columns with one row per key, which grow as keys are met."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ColumnStore:
    """Arrays of one length, by name; new rows get each column's default."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self._arrays = {name: np.full(0, default) for name, default in self._defaults.items()}
        self._rows, self._views = 0, dict(self._arrays)

    def fit(self, rows: int) -> None:
        """Make room for *rows* rows; what is there stays."""
        if rows <= self._rows:
            return
        capacity = len(next(iter(self._arrays.values())))
        if rows > capacity:
            for name, default in self._defaults.items():
                grown = np.full(max(rows, 2 * capacity), default)
                grown[:capacity] = self._arrays[name]
                self._arrays[name] = grown
        self._rows, self._views = rows, {name: array[:rows] for name, array in self._arrays.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a writable view of column *name*, shape (rows,), valid until :meth:`fit` grows it."""
        return self._views[name]
