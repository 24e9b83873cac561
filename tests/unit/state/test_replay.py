"""What a history says is the same however it comes: in whichever order, in how many pieces, however little is held.

What that is, one by one, is held by ``test_restore.py``.
"""

from __future__ import annotations

import random

import pytest

from builders.commit_histories import History, known, new_state
from fakes.tables import MemoryTables
from offset_sync.state import replay, row_groups
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.replay import restore_commits
from offset_sync.tables.catalog import OFFSET_COMMITS


@pytest.mark.parametrize(("held", "few", "most_codes"), [(10, 64, 1 << 62), (1_000_000, -1, 1 << 62), (10, -1, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int, held: int, few: int, most_codes: int
) -> None:
    history, tables = History(seed), MemoryTables()
    history.go_on(300)
    history.write(tables)  # type: ignore[arg-type]
    wanted, found = new_state(), new_state()
    newest_ms = restore_commits(tables, wanted, CommitLogIncarnations(tables))  # type: ignore[arg-type]
    assert any(each["rewound_ms"] > 0 for each in known(wanted).values())
    assert any(each["genuine_offset"] >= 0 > each["log_offset"] for each in known(wanted).values())
    rows = tables.all_rows(OFFSET_COMMITS)
    order = [*random.Random(seed).sample(range(rows.num_rows), rows.num_rows), *range(40, 90)]
    batches = [rows.take(order[first : first + 50]) for first in range(0, len(order), 50)]
    batches.append(rows.slice(0, 0))
    monkeypatch.setattr(tables, "batches", lambda _table, names: [each.select(names) for each in batches])
    monkeypatch.setattr(replay, "MOST_ROWS", held)
    monkeypatch.setattr(row_groups, "FEW", few)
    monkeypatch.setattr(row_groups, "_MOST_CODES", most_codes)
    assert restore_commits(tables, found, CommitLogIncarnations(tables)) == newest_ms  # type: ignore[arg-type]
    assert known(found) == known(wanted)
