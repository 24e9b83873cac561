"""Columns of the index tables as numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.state.index_rows import int64s

TIME = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), TIME])
@pytest.mark.parametrize("values", [[], [7], [7, None, -3], [None]])
def test_numbers_and_times_are_int64_whatever_they_were_and_null_is_what_one_likes(
    kind: pa.DataType, values: list[int | None]
) -> None:
    for cut in range(len(values) + 1):
        column = pa.chunked_array([pa.array(values[:cut], kind), pa.array(values[cut:], kind)])
        found = int64s(column, -1)
        assert (found.dtype, found.tolist()) == (np.int64, [-1 if each is None else each for each in values])
