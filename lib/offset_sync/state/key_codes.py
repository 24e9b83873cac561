"""Keys of many columns as numbers, so that rows can be sorted and compared by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]
_MOST = 1 << 62


class KeyCodes:
    """A number for each key that was met, from 0 on; a key is what the columns *names* hold."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._codes: dict[tuple[Any, ...], int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, rows: pa.Table) -> Codes:
        """Return the number of each row's key, shape (rows,)."""
        if rows.num_rows == 0:
            return np.empty(0, np.int64)
        combined, size = np.zeros(rows.num_rows, np.int64), 1
        for name in self._names:
            encoded = pc.dictionary_encode(rows.column(name).combine_chunks(), null_encoding="encode")
            encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
            if size * len(encoded.dictionary) > _MOST:  # count only those combinations that there are
                _, combined = np.unique(combined, return_inverse=True)
                size = len(combined)
            combined = combined * len(encoded.dictionary) + encoded.indices.to_numpy()
            size *= len(encoded.dictionary)
        _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
        found = rows.select(self._names).take(pa.array(first))
        keys = zip(*(found.column(name).to_pylist() for name in self._names), strict=True)
        codes = np.array([self._codes.setdefault(key, len(self._codes)) for key in keys], np.int64)
        return codes[inverse]

    def columns(self) -> dict[str, list[Any]]:
        """Return the keys, by column, in the order of their numbers."""
        keys = list(self._codes)
        return {name: [key[place] for key in keys] for place, name in enumerate(self._names)}


def last_of_each(code: Codes, order: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return, for each number in *code*, the row with the greatest *order*; of equal ones the last."""
    if len(code) == 0:
        return np.empty(0, np.intp)
    rows = np.lexsort((order, code))
    return rows[np.flatnonzero(np.append(code[rows][1:] != code[rows][:-1], True))]
