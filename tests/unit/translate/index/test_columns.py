"""Arrays that grow, against lists: what was appended is there, whatever the pieces, and a view does not change."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.index.columns import ColumnStore, GrowingArray

CHANGES = ("append", "set_last", "view", "shared", "copy")


@pytest.mark.parametrize("seed", range(60))
def test_an_array_and_each_of_its_views_is_a_list_of_its_own(seed: int) -> None:
    rng = random.Random(seed)

    def some() -> list[int]:
        return [rng.randint(-(2**63), 2**63 - 1) for _ in range(rng.choice((0, 1, 3, 80)))]

    first = some()
    begun = np.array(first, np.int64)
    arrays = [GrowingArray(), GrowingArray.of(begun), GrowingArray.with_room(begun)]
    lists, kept = [list[int](), list(first), list(first)], [(begun, list(first))]
    for _ in range(12):
        chosen, change, more = rng.randrange(len(arrays)), rng.choice(CHANGES), some()
        array, its_list = arrays[chosen], lists[chosen]
        if change == "append":
            array.append(np.array(more, np.int64))
            its_list += more
        elif change == "set_last" and its_list:
            array.set_last(7)
            its_list[-1] = 7
        elif change == "shared":
            kept.append((array.shared(), list(its_list)))
        elif change != "set_last":
            arrays.append(array.view() if change == "view" else GrowingArray.with_room(array.values))
            lists.append(list(its_list))
    assert [array.values.tolist() for array in arrays] == lists
    assert [len(array) for array in arrays] == [len(each) for each in lists]
    assert all(array.tolist() == wanted for array, wanted in kept)


@law(100)
@given(st.lists(st.integers(0, 70), max_size=6))
def test_columns_give_new_rows_their_defaults_and_keep_the_old_ones(sizes: list[int]) -> None:
    columns, wanted = ColumnStore({"offset": -1, "is_own": False}), [list[int](), list[bool]()]
    for step, size in enumerate([0, *sizes]):
        columns.fit(size)
        more = max(size - len(wanted[0]), 0)
        wanted = [wanted[0] + [-1] * more, wanted[1] + [False] * more]
        assert [columns[name].tolist() for name in ("offset", "is_own")] == wanted
        columns["offset"][::2], columns["is_own"][1::3] = step, True
        wanted[0][::2], wanted[1][1::3] = [step] * len(wanted[0][::2]), [True] * len(wanted[1][1::3])
    assert (columns["offset"].dtype, columns["is_own"].dtype) == (np.int64, np.bool_)
