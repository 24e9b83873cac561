"""The last commits of a history are the same however it comes: in whichever order, in how many pieces.

What they are, one by one, is held by ``test_restore.py``.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from builders.commit_histories import History
from fakes.tables import MemoryTables
from offset_sync.state import last_commits as module
from offset_sync.state import row_groups
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_commits import LAST_COMMITS_SCHEMA, Rewinds, last_commits
from offset_sync.tables.catalog import OFFSET_COMMITS


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in LAST_COMMITS_SCHEMA.names[:4]])


@pytest.mark.parametrize(("held", "few", "most_codes"), [(10, 64, 1 << 62), (1_000_000, -1, 1 << 62), (10, -1, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int, held: int, few: int, most_codes: int
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
    monkeypatch.setattr(row_groups, "FEW", few)
    monkeypatch.setattr(row_groups, "_MOST_CODES", most_codes)
    batches = [rows.take(order[first : first + 50]) for first in range(0, len(order), 50)]
    assert in_order(last_commits([*batches, rows.slice(0, 0)], places).to_pylist()) == wanted
