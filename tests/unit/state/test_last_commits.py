"""The last commits of a history are the same however it comes: in whichever order, in how many pieces.

What they are, one by one, is held by ``test_restore.py``.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from builders.commit_histories import History
from fakes.tables import MemoryTables
from offset_sync.state import last_commits as module
from offset_sync.state import row_groups
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_commits import LAST_COMMITS_SCHEMA, Rewinds, last_commits
from offset_sync.state.row_groups import RowGroups, greatest_of_each
from offset_sync.tables.catalog import OFFSET_COMMITS


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in LAST_COMMITS_SCHEMA.names[:4]])


@pytest.mark.parametrize("held", [10, 1_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int, held: int
) -> None:
    history, tables = History(seed), MemoryTables()
    history.go_on(300)
    history.write(tables)  # type: ignore[arg-type]
    lives = CommitLogIncarnations(tables)  # type: ignore[arg-type]
    lives.refresh()
    rows, places = tables.all_rows(OFFSET_COMMITS).sort_by("captured_at"), lives.places()
    wanted = in_order(last_commits([rows], places).to_pylist())
    assert any(row["rewound_ms"] for row in wanted)
    assert any(row["log_offset"] is None for row in wanted)
    order = [*random.Random(seed).sample(range(rows.num_rows), rows.num_rows), *range(40, 90)]
    monkeypatch.setattr(module, "Rewinds", lambda: Rewinds(held))
    batches = [rows.take(order[first : first + 50]) for first in range(0, len(order), 50)]
    assert in_order(last_commits([*batches, rows.slice(0, 0)], places).to_pylist()) == wanted


TEXTS, NUMBERS = ["b", "a", "", None, "a b"], [3, 1, None, 2**31 - 1]


def texts_and_numbers(rng: random.Random, rows: int) -> pa.Table:
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
        found = texts_and_numbers(rng, rows)
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
