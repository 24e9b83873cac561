"""Rows grouped by some of their columns, without the start of a query engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class RowGroups(NamedTuple):
    """*group* is the number of each row's group, shape (rows,); *first* is the first row of each, shape (groups,).

    Rows with the same values in all columns are one group. Groups are numbered in order of appearance.
    """

    group: NDArray[np.intp]
    first: NDArray[np.intp]

    @classmethod
    def of(cls, columns: Sequence[pa.ChunkedArray]) -> RowGroups:
        """Return the groups of rows by *columns*, at least one; null is a value like any other."""
        group = np.zeros(len(columns[0]), np.int64)
        for column in columns:
            encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
            code = group * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
            # Codes stay below the number of rows, so no product overflows.
            group = pa.array(code).dictionary_encode().indices.to_numpy().astype(np.int64)
        first = np.empty(int(group.max(initial=-1)) + 1, np.intp)
        first[group[::-1]] = np.arange(len(group) - 1, -1, -1)
        return cls(group, first)

    def last(self, at: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the *chosen* row of each group that is last by *at*, of equal ones the last row; -1: none."""
        order = np.argsort(at, kind="stable")
        order = order[chosen[order]]
        found = np.full(len(self.first), -1, np.intp)
        found[self.group[order]] = order
        return found


def greatest_of_each(rows: pa.Table, names: Sequence[str], values: NDArray[np.int64]) -> dict[tuple[Any, ...], int]:
    """Return the greatest of *values*, shape (rows,), by the columns *names* of *rows*, in order of appearance."""
    found = rows.select(names).append_column("value", pa.array(values))
    greatest = found.group_by(names, use_threads=False).aggregate([("value", "max")])
    *keys, most = (greatest.column(name).to_pylist() for name in (*names, "value_max"))
    return dict(zip(zip(*keys, strict=True), most, strict=True))


def keys_at(columns: Sequence[pa.ChunkedArray], rows: NDArray[np.intp]) -> list[tuple[Any, ...]]:
    """Return the values of *columns* in these *rows*, a tuple for each."""
    chosen = pa.array(rows)
    return list(zip(*(column.take(chosen).to_pylist() for column in columns), strict=True))
