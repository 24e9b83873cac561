"""The last commits of a history are the same however it comes: in whichever order, in how many pieces.

What they are, one by one, is held by ``test_restore.py``.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.state import last_commits as module
from offset_sync.state import row_groups
from offset_sync.state.commit_log_incarnations import LogIncarnation, Places
from offset_sync.state.last_commits import LAST_COMMITS_SCHEMA, Rewinds, last_commits
from offset_sync.state.row_groups import RowGroups, greatest_of_each
from offset_sync.tables.catalog import OFFSET_COMMITS

BEGINS = datetime(2026, 11, 20, tzinfo=timezone.utc)
Rows = list[dict[str, Any]]


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def history(seed: int, size: int) -> tuple[Rows, Places]:
    """Return commits of two clusters whose logs are cut now and then and get a second partition, and their lives."""
    chance, now, rows, lives = random.Random(seed), BEGINS, list[dict[str, Any]](), list[LogIncarnation]()
    ends = dict.fromkeys([(alias, number) for alias in "XY" for number in (0, 1)], 0)
    grown_at = {alias: chance.randrange(size) for alias in "XY"}
    for step in range(size):
        now += timedelta(seconds=1)
        alias, group = chance.choice("XY"), f"g{chance.randrange(4)}"
        log = alias, coordinator_partition(group, 1 + (step >= grown_at[alias]))
        if chance.random() < 0.05:
            ends[log] = chance.randint(0, ends[log])
            lives.append(LogIncarnation(*log, ends[log], ms(now)))
            continue
        offset = chance.choice([None, -1, *range(9)])
        row = {"cluster": alias, "group_id": group, "topic": chance.choice("ab")}
        row |= {"partition": chance.randrange(2), "committed_offset": offset, "committed_at": now}
        row |= {"leader_epoch": chance.choice([None, 3]), "topic_id": chance.choice([None, "id"])}
        row |= {"is_tombstone": offset is None, "made_at": now - timedelta(milliseconds=chance.choice([0, 3]))}
        row |= {"is_own": chance.random() < 0.3, "log_partition": log[1], "log_offset": ends[log]}
        rows.append(row | {"captured_at": now + timedelta(milliseconds=1)})
        ends[log] += 1
    return rows, Places(tuple(lives), {"X": 2, "Y": 2})


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in LAST_COMMITS_SCHEMA.names[:4]])


@pytest.mark.parametrize("held", [10, 1_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int, held: int
) -> None:
    rows, places = history(seed, 300)
    wanted = in_order(last_commits([table(rows)], places).to_pylist())
    assert any(row["rewound_ms"] for row in wanted)
    assert any(row["log_offset"] is None for row in wanted)
    random.Random(seed).shuffle(rows)
    rows += rows[40:90]
    monkeypatch.setattr(module, "Rewinds", lambda: Rewinds(held))
    batches = [table(rows[first : first + 50]) for first in range(0, len(rows), 50)]
    assert in_order(last_commits([*batches, table([])], places).to_pylist()) == wanted


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
