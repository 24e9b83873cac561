"""The last commits of a history are the same however it comes: in whichever order, in how many pieces."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.model.values import ABSENT
from offset_sync.state import last_commits as module
from offset_sync.state.commit_log_incarnations import LogIncarnation, Places
from offset_sync.state.last_commits import LAST_COMMITS_SCHEMA, KeyCodes, Rewinds, last_commits
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
        row |= {"is_tombstone": offset is None, "made_at": chance.choice([None, now - timedelta(milliseconds=3)])}
        row |= {"is_own": chance.random() < 0.3, "log_partition": log[1], "log_offset": ends[log]}
        rows.append(row | {"captured_at": now + timedelta(milliseconds=1)})
        ends[log] += 1
    return rows, Places(tuple(lives), {"X": 2, "Y": 2})


def one_by_one(rows: Rows, places: Places) -> list[dict[str, Any]]:
    """Return what :func:`last_commits` is to return, row by row."""
    marked = [
        row | dict(zip(("gone", "newest", "place"), each, strict=True)) for row, each in zip(rows, at(rows, places))
    ]
    found = []
    for key in {key_of(row) for row in rows}:
        mine = sorted((row for row in marked if key_of(row) == key), key=lambda row: row["place"])
        last, newest = mine[-1], max(mine, key=lambda row: row["newest"])
        stands = last["gone"] == ABSENT
        holds = stands and is_position(last)
        genuine = [row for row in mine if not row["is_own"] and is_position(row)]
        placed = [row for row in mine if is_position(row) and (row["gone"] == ABSENT or not row["is_own"])]
        went_back = [
            made_ms(after)
            for before, after in pairwise(placed)
            if after["committed_offset"] < before["committed_offset"] and not after["is_own"]
        ]
        found.append(
            dict(zip(LAST_COMMITS_SCHEMA.names, key))
            | {
                "log_partition": last["log_partition"] if stands else None,
                "log_offset": last["log_offset"] if stands else None,
                "actual_offset": last["committed_offset"] if holds else None,
                "actual_at_ms": ms(last["committed_at"]) if stands else last["gone"],
                "actual_made_ms": made_ms(last) if stands else last["gone"],
                "actual_epoch": epoch(last) if holds else ABSENT,
                "actual_is_own": stands and last["is_own"],
                "is_deleted": last["is_tombstone"] and newest["is_tombstone"],
                "genuine_offset": genuine[-1]["committed_offset"] if genuine else None,
                "genuine_at_ms": ms(genuine[-1]["committed_at"]) if genuine else None,
                "genuine_made_ms": made_ms(genuine[-1]) if genuine else None,
                "genuine_epoch": epoch(genuine[-1]) if genuine else None,
                "last_offset": placed[-1]["committed_offset"] if placed else None,
                "topic_id": placed[-1]["topic_id"] if placed else None,
                "rewound_ms": max(went_back, default=None),
                "first_ms": min(map(made_ms, genuine), default=None),
                "captured_ms": max(ms(row["captured_at"]) for row in mine),
            }
        )
    return found


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["cluster"], row["group_id"], row["topic"], row["partition"]


def is_position(row: dict[str, Any]) -> bool:
    return not row["is_tombstone"] and row["committed_offset"] >= 0


def made_ms(row: dict[str, Any]) -> int:
    return min(ms(row["committed_at"]), ms(row["captured_at"])) if row["made_at"] is None else ms(row["made_at"])


def epoch(row: dict[str, Any]) -> int:
    return ABSENT if row["leader_epoch"] is None else int(row["leader_epoch"])


def at(rows: Rows, places: Places) -> list[tuple[int, tuple[bool, int, int], tuple[bool, bool, int, int]]]:
    """Return of each row when it is gone, and what orders it: among all of its key, and with those first that are."""
    found = []
    for row in rows:
        of_log = [e for e in places.incarnations if (e.cluster, e.partition) == (row["cluster"], row["log_partition"])]
        begun = [life.noticed_ms for life in of_log if life.begins_at <= row["log_offset"]]
        gone = min((ms_ for ms_ in begun if ms_ >= ms(row["captured_at"])), default=ABSENT)
        is_present = coordinator_partition(row["group_id"], places.partitions[row["cluster"]]) == row["log_partition"]
        life = max((ms_ for ms_ in begun if ms_ < ms(row["captured_at"])), default=0)
        newest = (is_present, life, row["log_offset"])
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
    assert any(row["rewound_ms"] for row in wanted)
    assert any(row["log_offset"] is None for row in wanted)
    if pieces > 1:
        random.Random(seed).shuffle(rows)
    monkeypatch.setattr(module, "Rewinds", lambda: Rewinds(held))
    size = -(-len(rows) // pieces)
    batches = [table(rows[first : first + size]) for first in range(0, len(rows), size)]
    assert in_order(last_commits(batches, places).to_pylist()) == wanted


def test_keys_of_so_many_values_that_their_product_is_no_number_are_still_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("offset_sync.state.last_commits._MOST", 20)
    chance = random.Random(4)
    rows = pa.table({name: [chance.randrange(9) for _ in range(200)] for name in "abc"})
    codes, keys = KeyCodes("abc"), rows.to_pylist()
    found = dict(zip(codes.of(rows).tolist(), (tuple(key.values()) for key in keys), strict=True))
    assert sorted(found.values()) == sorted({tuple(key.values()) for key in keys})
    assert codes.of(rows.slice(5, 1)).tolist() == [codes.of(rows).tolist()[5]]


def test_what_was_put_away_is_removed_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    numbers = np.arange(6)
    with Rewinds(2) as rewinds:
        rewinds.add(numbers % 2, numbers, 9 - numbers, numbers)
        assert rewinds.last_ms(3).tolist() == [4, 5, ABSENT]
        assert list(tmp_path.iterdir()) != []
    assert list(tmp_path.iterdir()) == []
