"""Rows that lie in stretches of one log are put together without sorting, in the same order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.state import index_rows
from offset_sync.state.index_rows import IndexRows, joined, joined_by_log


def part_of(rng: random.Random, first: int, *, ascends: bool) -> IndexRows:
    """Some rows of a few logs, each with a number of its own, of which many have one offset."""
    logs = [rng.randrange(4) for _ in range(rng.randint(1, 12))]
    log = np.array(sorted(logs) if ascends else logs, np.int64)
    number = np.arange(first, first + len(log))
    return IndexRows(log, number // 3, number, *np.zeros((6, len(log)), np.int64))


@law(200)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.3]), st.sampled_from([0, 1, 256]))
def test_rows_of_a_log_stay_in_the_order_in_which_they_came(seed: int, disorder: float, worth: int) -> None:
    rng = random.Random(seed)
    parts = [part_of(rng, number * 20, ascends=rng.random() >= disorder) for number in range(rng.randint(1, 6))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_rows, "_WORTH_A_STRETCH", worth)
        found = joined_by_log(parts).in_order()
    for column, wanted in zip(found.columns, joined(parts).in_order().columns, strict=True):
        assert column.tolist() == wanted.tolist()


def test_long_stretches_are_not_sorted() -> None:
    parts = [IndexRows(np.repeat([0, 1], 300), *np.zeros((8, 600), np.int64)) for _ in range(3)]
    assert joined_by_log(parts).log.tolist() == [0] * 900 + [1] * 900
