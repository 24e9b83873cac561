"""The last commits of a history are the same however it comes: in whichever order, in how many pieces."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.model.values import ABSENT
from offset_sync.state import last_commits as module
from offset_sync.state.commit_log_lives import LogLife, Places
from offset_sync.state.key_codes import KeyCodes, last_of_each
from offset_sync.state.last_commits import LAST_COMMITS_SCHEMA, last_commits
from offset_sync.state.rewinds import Rewinds
from offset_sync.tables.catalog import OFFSET_COMMITS

BEGINS = datetime(2026, 11, 20, tzinfo=timezone.utc)
Rows = list[dict[str, Any]]


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def history(seed: int, size: int) -> tuple[Rows, Places]:
    """Return commits of two clusters whose logs are cut now and then, and their lives."""
    chance, now, rows, lives = random.Random(seed), BEGINS, list[dict[str, Any]](), list[LogLife]()
    ends = dict.fromkeys([(alias, number) for alias in "XY" for number in (0, 1)], 0)
    for _ in range(size):
        now += timedelta(seconds=1)
        alias, number = log = chance.choice(list(ends))
        if chance.random() < 0.05:
            ends[log] = chance.randint(0, ends[log])
            lives.append(LogLife(alias, number, ends[log], ms(now)))
            continue
        offset = chance.choice([None, -1, *range(9)])
        row = {"cluster": alias, "group_id": f"g{number}-{chance.randrange(4)}", "topic": chance.choice("ab")}
        row |= {"partition": chance.randrange(2), "committed_offset": offset, "committed_at": now}
        row |= {"leader_epoch": chance.choice([None, 3]), "metadata": chance.choice(["", "m", "n"])}
        row |= {"topic_id": chance.choice([None, "id"]), "is_tombstone": offset is None}
        row |= {"is_own": chance.random() < 0.3, "log_partition": number, "log_offset": ends[log]}
        rows.append(row | {"captured_at": now + timedelta(milliseconds=1)})
        ends[log] += 1
    return rows, Places(tuple(lives))


def one_by_one(rows: Rows, places: Places) -> list[dict[str, Any]]:
    """Return what :func:`last_commits` is to return, row by row."""
    marked = [
        row | dict(zip(("gone", "newest", "place"), each, strict=True)) for row, each in zip(rows, at(rows, places))
    ]
    found = []
    for key in {(row["cluster"], row["group_id"], row["topic"], row["partition"]) for row in rows}:
        mine = [row for row in marked if (row["cluster"], row["group_id"], row["topic"], row["partition"]) == key]
        mine.sort(key=lambda row: row["place"])
        last, newest = mine[-1], max(mine, key=lambda row: row["newest"])
        stands = last["gone"] == ABSENT
        is_position = not last["is_tombstone"] and last["committed_offset"] >= 0
        genuine = [row for row in mine if not row["is_own"] and not row["is_tombstone"]]
        genuine = [row for row in genuine if row["committed_offset"] >= 0]
        went_back = [
            ms(after["committed_at"])
            for before, after in pairwise(genuine)
            if after["committed_offset"] < before["committed_offset"]
        ]
        said = genuine[-1] if genuine else None
        found.append(
            dict(zip(LAST_COMMITS_SCHEMA.names, key))
            | {
                "log_offset": last["log_offset"] if stands else None,
                "actual_offset": last["committed_offset"] if stands and is_position else None,
                "actual_at_ms": ms(last["committed_at"]) if stands else last["gone"],
                "actual_is_own": stands and last["is_own"],
                "actual_metadata": last["metadata"],
                "is_deleted": last["is_tombstone"] and newest["is_tombstone"],
                "genuine_offset": said and said["committed_offset"],
                "genuine_at_ms": said and ms(said["committed_at"]),
                "genuine_epoch": said and (ABSENT if said["leader_epoch"] is None else said["leader_epoch"]),
                "metadata": said and said["metadata"],
                "topic_id": said and said["topic_id"],
                "rewound_at_ms": max(went_back, default=None),
                "captured_ms": max(ms(row["captured_at"]) for row in mine),
            }
        )
    return found


def at(rows: Rows, places: Places) -> list[tuple[int, tuple[int, int], tuple[bool, int, int]]]:
    """Return of each row when it is gone, and what orders it: among all of its key, and with those first that are."""
    found = []
    for row in rows:
        of_log = [e for e in places.lives if (e.cluster, e.partition) == (row["cluster"], row["log_partition"])]
        begun = [life.noticed_ms for life in of_log if life.begins_at <= row["log_offset"]]
        gone = min((ms_ for ms_ in begun if ms_ >= ms(row["captured_at"])), default=ABSENT)
        newest = (max((ms_ for ms_ in begun if ms_ < ms(row["captured_at"])), default=0), row["log_offset"])
        found.append((gone, newest, (gone == ABSENT, *newest)))
    return found


def table(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[name]) for name in LAST_COMMITS_SCHEMA.names[:4]])


@pytest.mark.parametrize("held", [10, 1_000_000])
@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_one_by_one(
    monkeypatch: pytest.MonkeyPatch, seed: int, pieces: int, held: int
) -> None:
    rows, places = history(seed, 300)
    wanted = in_order(one_by_one(rows, places))
    assert any(row["rewound_at_ms"] for row in wanted)
    assert any(row["log_offset"] is None for row in wanted)
    if pieces > 1:
        random.Random(seed).shuffle(rows)
    monkeypatch.setattr(module, "Rewinds", lambda: Rewinds(held))
    size = -(-len(rows) // pieces)
    batches = [table(rows[first : first + size]) for first in range(0, len(rows), size)]
    assert in_order(last_commits(batches, places).to_pylist()) == wanted


def test_rows_that_come_twice_change_nothing() -> None:
    rows, places = history(9, 200)
    once = last_commits([table(rows)], places)
    again = last_commits([table(rows), table(rows[:50]), table(rows[20:90])], places)
    assert in_order(again.to_pylist()) == in_order(once.to_pylist())


def test_a_history_without_rows_has_no_last_commits() -> None:
    assert last_commits([], Places(())).num_rows == 0
    assert last_commits([table([])], Places(())).schema == LAST_COMMITS_SCHEMA


def test_keys_of_so_many_values_that_their_product_is_no_number_are_still_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("offset_sync.state.key_codes._MOST", 20)
    chance = random.Random(4)
    rows = pa.table({name: [chance.randrange(9) for _ in range(200)] for name in "abc"})
    codes, keys = KeyCodes("abc"), rows.to_pylist()
    found = dict(zip(codes.of(rows).tolist(), (tuple(key.values()) for key in keys), strict=True))
    assert sorted(found.values()) == sorted({tuple(key.values()) for key in keys})
    assert codes.of(rows.slice(5, 1)).tolist() == [codes.of(rows).tolist()[5]]


def test_of_equal_rows_the_last_one_counts() -> None:
    code, order = np.array([1, 0, 1, 1]), np.array([5, 2, 7, 7])
    assert last_of_each(code, order).tolist() == [1, 3]


def test_what_was_put_away_is_removed_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    numbers = np.arange(6)
    with Rewinds(2) as rewinds:
        rewinds.add(numbers % 2, numbers, 9 - numbers, numbers)
        assert rewinds.last_ms(3).tolist() == [4, 5, ABSENT]
        assert list(tmp_path.iterdir()) != []
    assert list(tmp_path.iterdir()) == []
