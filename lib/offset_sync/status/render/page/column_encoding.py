"""Columns as compact JSON: most partitions are well, so most columns hold one value almost everywhere.

A column is one of these; ``files/unpack.js`` reads them::

    {"v": [7, 3, 9]}                              values in order
    {"d": 0, "i": [4, 3], "v": [12, 5]}           0 everywhere but in rows 4 and 4 + 3
    {"like": "target_offset", "i": [4], "v": [7]} what that column says, but for row 4
    {"w": ["EXACT", "REWIND"], "n": {…}}          words, and a column of numbers that counts them from 0

A number that JavaScript cannot hold exactly is a string of digits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.text import visible

Packed = dict[str, Any]
_EXACT = 2**53
"""JavaScript's numbers are exact below it."""
_SPARSE = 0.5
"""Up to this share of exceptions, naming them is shorter than all values."""


def pack_table(table: pa.Table, names: Collection[str], like: Mapping[str, str] | None = None) -> Packed:
    """Return ``{"rows": n, "columns": {name: packed column}}`` of the columns *names*.

    *like* says of a column which other one it mostly equals. Text is made :func:`visible`.
    """
    like = like or {}
    columns = {
        name: _pack_like(table[name], table[like[name]], like[name]) if name in like else pack_column(table[name])
        for name in names
    }
    return {"rows": table.num_rows, "columns": columns}


def pack_column(column: pa.ChunkedArray) -> Packed:
    """Return *column*, of text, booleans or whole numbers, in its shortest form."""
    if pa.types.is_string(column.type):
        coded = column.combine_chunks().dictionary_encode()
        words = [visible(word) for word in coded.dictionary.to_pylist()]
        return {"w": words, "n": _pack_numbers(coded.indices)}
    return _pack_numbers(column.combine_chunks())


def _pack_numbers(values: pa.Array) -> Packed:
    counts = pc.value_counts(values)
    if len(counts):
        most = int(np.argmax(counts.field("counts").to_numpy()))
        common, count = counts.field("values")[most], counts.field("counts")[most].as_py()
        if len(values) - count <= _SPARSE * len(values):
            same = pc.equal(values, common) if common.is_valid else pc.is_null(values)
            return {"d": exact(common.as_py()), **_exceptions(values, pc.invert(pc.fill_null(same, False)))}
    return {"v": [exact(value) for value in values.to_pylist()]}


def _pack_like(column: pa.ChunkedArray, other: pa.ChunkedArray, name: str) -> Packed:
    values, others = column.combine_chunks(), other.combine_chunks()
    both_null = pc.and_(pc.is_null(values), pc.is_null(others))
    differs = pc.invert(pc.or_(pc.fill_null(pc.equal(values, others), False), both_null))
    return {"like": name, **_exceptions(values, differs)}


def _exceptions(values: pa.Array, differs: pa.Array) -> Packed:
    rows = np.flatnonzero(differs.to_numpy(zero_copy_only=False))
    return {"i": np.diff(rows, prepend=0).tolist(), "v": [exact(each) for each in values.take(rows).to_pylist()]}


def exact(value: Any) -> Any:
    """Return *value* as JavaScript can hold it, and text as it can be shown."""
    if isinstance(value, str):
        return visible(value)
    return str(value) if isinstance(value, int) and abs(value) >= _EXACT else value
