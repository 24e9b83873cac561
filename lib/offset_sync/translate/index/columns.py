"""Rows kept as columns: frozen dataclasses whose fields are arrays of one length, and arrays that grow at their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

_LEAST = 16
_NOTHING: NDArray[np.int64] = np.empty(0, np.int64)
T = TypeVar("T")


class Columns:
    """The base of such dataclasses: columns are the positional fields, in their order, and no keyword-only ones."""

    __match_args__: ClassVar[tuple[str, ...]] = ()
    if TYPE_CHECKING:

        def __init__(self, *columns: NDArray[Any]) -> None: ...

    @classmethod
    def none(cls) -> Self:
        """Return no rows; all columns are int64."""
        return cls(*np.empty((len(cls.__match_args__), 0), np.int64))

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """All columns, in their order."""
        return tuple([getattr(self, name) for name in self.__match_args__])

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Self:
        """Return the chosen rows; fields that are no columns get their defaults."""
        return type(self)(*[column[rows] for column in self.columns])

    def followed_by(self, *others: Self) -> Self:
        """Return the rows of this one and of all *others*, in this order."""
        return type(self)(*map(np.concatenate, zip(self.columns, *(each.columns for each in others), strict=True)))


def shallow(known: T) -> T:
    """Return an object that has the same attributes; ``copy.copy`` does so too, and takes ten times as long."""
    found = object.__new__(type(known))
    found.__dict__.update(known.__dict__)
    return found


class GrowingArray:
    """Append-only int64 column that grows by a third, in amortised constant time.

    Its :attr:`values` are valid until the next change, or for good if they are :meth:`shared`.
    """

    def __init__(self) -> None:
        self._buffer = _NOTHING
        self._size = 0
        self._is_shared = False

    @classmethod
    def of(cls, values: NDArray[np.int64]) -> GrowingArray:
        """Return a column that begins with *values*, which it keeps as they are: no part of a larger array."""
        found = cls.__new__(cls)
        found._buffer, found._size, found._is_shared = values, len(values), True
        return found

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[np.int64]:
        """What has been appended so far, shape (size,)."""
        return self._buffer[: self._size]

    def append(self, values: NDArray[np.int64]) -> None:
        """Append *values* at the end."""
        size = self._size + len(values)
        if size > len(self._buffer):
            grown = np.empty(size + size // 3 + _LEAST, np.int64)
            grown[: self._size] = self.values
            self._buffer, self._is_shared = grown, False
        self._buffer[self._size : size] = values
        self._size = size

    def set_last(self, value: int) -> None:
        """Overwrite the last value."""
        if self._is_shared:
            self._buffer, self._is_shared = self._buffer.copy(), False
        self._buffer[self._size - 1] = value

    def view(self) -> GrowingArray:
        """Return what has been appended so far as a column that does not change with this one; costs no copy."""
        found = shallow(self)
        found._buffer = self.shared()
        found._is_shared = True
        return found

    def shared(self) -> NDArray[np.int64]:
        """Return :attr:`values` for callers that keep them: later overwrites do not change them."""
        self._is_shared = True
        return self.values


class ColumnStore:
    """Arrays of one length, by name; new rows get each column's default."""

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = dict(defaults)
        self._arrays = {name: np.full(0, default) for name, default in self._defaults.items()}
        self._rows, self._views = 0, dict(self._arrays)

    def fit(self, rows: int) -> None:
        """Make room for *rows* rows; existing ones are kept."""
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
