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


@pytest.mark.parametrize("rows", [0, 1, 7, 200])
@pytest.mark.parametrize(("few", "most_codes"), [(64, 1 << 62), (-1, 1 << 62), (-1, 1)])
def test_rows_with_the_same_values_are_one_group(
    rows: int, few: int, most_codes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_groups, "FEW", few)
    monkeypatch.setattr(row_groups, "_MOST_CODES", most_codes)
    rng = random.Random(rows)
    keys = [(rng.choice(["b", "a", "", None]), rng.choice([3, 1, None, 2**31 - 1])) for _ in range(rows)]
    columns = [
        pa.chunked_array([[key[n] for key in part] for part in (keys[: rows // 3], keys[rows // 3 :])], kind)
        for n, kind in enumerate((pa.string(), pa.int32()))
    ]
    at, chosen = [rng.randrange(4) - 2 for _ in keys], [rng.random() < 0.5 for _ in keys]
    groups, values = RowGroups.of(columns), np.array(at, np.int64)
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    assert groups.group.tolist() == [numbers[key] for key in keys]
    assert groups.first.tolist() == [keys.index(key) for key in numbers]
    members = [[row for row, each in enumerate(keys) if each == key] for key in numbers]
    greatest = {key: max(at[row] for row in mine) for key, mine in zip(numbers, members, strict=True)}
    assert greatest_of_each(columns, values) == greatest
    last = [max((row for row in mine if chosen[row]), key=lambda row: (at[row], row), default=-1) for mine in members]
    assert groups.last(values, np.array(chosen, np.bool_)).tolist() == last
