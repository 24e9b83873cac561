"""Rows that have a partner among a few others, without Spark. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_ROW, _PARTNER = "__row", "__partner"


def partners(rows: pa.Table, few: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Return for each of *rows* the number of that row of *few* which has the same values of *names*, else -1.

    Null is the same as nothing, as in SQL. Each combination of values is at most once among the *few*.
    """
    asked = rows.select(list(names)).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    known = few.select(list(names)).append_column(_PARTNER, pa.array(np.arange(few.num_rows)))
    schema = pa.schema([known.schema.field(name) for name in names])
    asked = asked.cast(pa.schema([*schema, asked.schema.field(_ROW)]))
    found = asked.join(known, list(names), join_type="inner", use_threads=False)
    partner = np.full(rows.num_rows, -1, np.int64)
    partner[found.column(_ROW).to_numpy()] = found.column(_PARTNER).to_numpy()
    return partner
