"""Rows kept as columns: the base of frozen dataclasses whose fields are arrays of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray


class Columns:
    """The columns are the positional fields of the subclass, in their order; a keyword-only field is none of them."""

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
