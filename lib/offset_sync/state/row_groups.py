"""Rows grouped by some of their columns, in one sort, without the start of a query engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_CODES = 1 << 62


class RowGroups(NamedTuple):
    """*group* is the number of each row's group, shape (rows,); *first* is the first row of each, shape (groups,).

    Rows with the same values in all columns are one group. Groups are numbered in order of appearance.
    """

    group: NDArray[np.intp]
    first: NDArray[np.intp]

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> RowGroups:
        """Return the groups of rows by *columns*, at least one; null is a value like any other."""
        code, codes = np.zeros(len(columns[0]), np.int64), 1
        for column in columns:
            encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
            if codes * max(1, len(encoded.dictionary)) > _MOST_CODES:
                distinct, code = np.unique(code, return_inverse=True)
                codes = len(distinct)
            code = code * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
            codes *= max(1, len(encoded.dictionary))
        _, first, group = np.unique(code, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(order), np.intp)
        number[order] = np.arange(len(order))
        return cls(number[group], first[order])

    def last(self, at: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the *chosen* row of each group that is last by *at*, of equal ones the last row; -1: none."""
        order = np.argsort(at, kind="stable")
        order = order[chosen[order]]
        found = np.full(len(self.first), -1, np.intp)
        found[self.group[order]] = order
        return found


def greatest_of_each(columns: Sequence[pa.ChunkedArray], values: NDArray[np.int64]) -> dict[tuple[Any, ...], int]:
    """Return the greatest of *values*, shape (rows,), by the values of *columns*, in order of appearance."""
    groups = RowGroups.of(columns)
    greatest = values[groups.first]
    np.maximum.at(greatest, groups.group, values)
    return dict(zip(keys_at(columns, groups.first), greatest.tolist(), strict=True))


def keys_at(columns: Sequence[pa.ChunkedArray], rows: NDArray[np.intp]) -> list[tuple[Any, ...]]:
    """Return the values of *columns* in these *rows*, a tuple for each."""
    chosen = pa.array(rows)
    return list(zip(*(column.take(chosen).to_pylist() for column in columns), strict=True))
