"""Groups of rows, against one dictionary in Python."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.state import row_groups
from offset_sync.state.row_groups import RowGroups, greatest_of_each, same_text

TEXTS, NUMBERS = ["b", "a", "", None, "a b"], [3, 1, None, 2**31 - 1]


def table(rng: random.Random, rows: int) -> pa.Table:
    """Return rows of two keys, in two chunks."""
    parts = [
        pa.table(
            {
                "text": pa.array([rng.choice(TEXTS) for _ in range(count)], pa.string()),
                "number": pa.array([rng.choice(NUMBERS) for _ in range(count)], pa.int32()),
            }
        )
        for count in (rows // 3, rows - rows // 3)
    ]
    return pa.concat_tables(parts)


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 200])
@pytest.mark.parametrize("limits", [(64, 1 << 62), (-1, 1 << 62), (-1, 1)])
def test_rows_with_the_same_values_are_one_group(
    rows: int, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in zip(("FEW", "_MOST_CODES"), limits, strict=True):
        monkeypatch.setattr(row_groups, name, limit)
    for seed in range(10):
        rng = random.Random(seed)
        found = table(rng, rows)
        columns = [found.column("text"), found.column("number")]
        keys = list(zip(*(column.to_pylist() for column in columns), strict=True))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        groups = RowGroups.of(columns)
        assert groups.group.tolist() == [numbers[key] for key in keys]
        assert groups.first.tolist() == [keys.index(key) for key in numbers]
        at, chosen = [rng.randrange(4) - 2 for _ in keys], [rng.random() < 0.5 for _ in keys]
        of_group = [[row for row, each in enumerate(keys) if each == key] for key in numbers]
        values = np.array(at, np.int64)
        greatest = [max(at[row] for row in mine) for mine in of_group]
        assert list(greatest_of_each(columns, values).items()) == list(zip(numbers, greatest, strict=True))
        last = groups.last(values, np.array(chosen, np.bool_))
        assert last.tolist() == [
            max((row for row in mine if chosen[row]), key=lambda row: (at[row], row), default=-1) for mine in of_group
        ]


@pytest.mark.parametrize("rows", [0, 1, 64, 65])
def test_one_text_is_in_every_row(rows: int) -> None:
    column = same_text("orders", rows)
    assert (column.type, column.to_pylist()) == (pa.string(), ["orders"] * rows)
