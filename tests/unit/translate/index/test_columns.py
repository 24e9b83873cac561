"""Arrays that grow: what was appended is there, whatever the pieces."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.index.columns import ColumnStore, GrowingArray

values = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40)


def array_of(*pieces: list[int]) -> GrowingArray:
    array = GrowingArray()
    for piece in pieces:
        array.append(np.array(piece, np.int64))
    return array


@law(100)
@given(st.lists(values, max_size=6))
def test_pieces_append_to_one_array(pieces: list[list[int]]) -> None:
    array = array_of(*pieces)
    assert array.values.tolist() == [value for piece in pieces for value in piece]
    assert len(array) == sum(map(len, pieces))


def test_the_last_value_can_be_set() -> None:
    array = array_of([1, 2], [3])
    array.set_last(7)
    assert array.values.tolist() == [1, 2, 7]


def test_an_array_that_begins_with_values_leaves_them_as_they_are() -> None:
    given = np.arange(3)
    array = GrowingArray.of(given)
    array.set_last(7)
    array.append(np.array([8]))
    assert (array.values.tolist(), given.tolist()) == ([0, 1, 7, 8], [0, 1, 2])


def test_columns_give_new_rows_their_defaults_and_keep_the_old_ones() -> None:
    columns = ColumnStore({"offset": -1, "is_own": False})
    assert columns["offset"].tolist() == []
    columns.fit(2)
    columns["offset"][:] = [5, 6]
    columns["is_own"][1] = True
    columns.fit(1)
    assert columns["offset"].tolist() == [5, 6]
    columns.fit(500)
    assert columns["offset"][:3].tolist() == [5, 6, -1]
    assert columns["is_own"].tolist() == [False, True] + [False] * 498
    assert (columns["offset"].dtype, columns["is_own"].dtype) == (np.int64, np.bool_)


def test_a_column_is_a_view_that_can_be_written_to() -> None:
    columns = ColumnStore({"offset": -1})
    columns.fit(3)
    columns["offset"][[0, 2]] = 9
    assert columns["offset"].tolist() == [9, -1, 9]
