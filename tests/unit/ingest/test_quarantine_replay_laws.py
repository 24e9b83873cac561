"""What is replayed is what plain Python finds by going through the rows, whatever is null and however they are read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from builders.offset_records import commit_key, commit_value
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.ingest.quarantine_replay import REPLAYED, clusters_waiting, replay_quarantine
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, QUARANTINE
from offset_sync.tables.definition import Table

BEGINS = datetime(2026, 1, 2, tzinfo=timezone.utc)
UNREADABLE = commit_value(4, version=99)
VALUES = [*map(commit_value, range(3)), None, UNREADABLE]
"""Null, a tombstone: it is unknown whether we wrote it."""
OFFSET_OF = {commit_value(offset): offset for offset in range(3)} | {None: None}
GROUP_OF = {commit_key(group, "t", 0): group for group in ("g", "h")}
Row = dict[str, Any]
Rows = dict[Table, list[Row]]


def any_rows(rng: random.Random) -> Rows:
    """Return rows of three tables, over so few places, times and values that they meet."""

    def place() -> tuple[str, int, int]:
        return rng.choice("XY"), rng.randrange(2), rng.randrange(3)

    def time() -> datetime:
        return BEGINS + timedelta(seconds=rng.randrange(4))

    records, commits, answers = list[Row](), list[Row](), list[Row]()
    for _ in range(rng.randrange(1, 16)):
        cluster, partition, offset = place()
        row = {"cluster": cluster, "partition": partition, "offset": offset, "seen_at": time()}
        topic = rng.choice([CONSUMER_OFFSETS] * 5 + ["orders"])
        if rng.random() < 0.2:
            row |= {"error": REPLAYED}
        else:
            row |= {"key": rng.choice([*GROUP_OF]), "value": rng.choice(VALUES), "error": rng.choice(["unknown", None])}
        records.append(row | {"topic": topic})
    for _ in range(rng.randrange(8)):
        cluster, partition, offset = place()
        commits.append({"cluster": cluster, "log_partition": partition, "log_offset": offset, "captured_at": time()})
    for _ in range(rng.randrange(12)):
        target = {"target_cluster": rng.choice("XY"), "target_offset": rng.choice([0, 1, 2, None])}
        key = {"group_id": rng.choice("gh"), "topic": rng.choice(["t", "t", "u"]), "partition": rng.choice([0, 0, 1])}
        answers.append(key | target | {"outcome": rng.choice(["COMMITTED", "COMMITTED", "FAILED", None])})
    return {QUARANTINE: records, OFFSET_COMMITS: commits, OFFSET_TRANSLATIONS: answers}


def waiting(rows: Rows) -> Iterator[tuple[Any, ...]]:
    """Yield cluster, partition, offset, key, value and time of what has not been replayed."""
    seen, marked = dict[Any, datetime](), dict[Any, datetime]()
    for row in rows[QUARANTINE]:
        if row["topic"] == CONSUMER_OFFSETS:
            where, at = (row["cluster"], row["partition"], row["offset"]), row["seen_at"]
            if row["error"] == REPLAYED:
                marked[where] = max(at, marked.get(where, at))
            else:
                record = (*where, row["key"], row["value"])
                seen[record] = min(at, seen.get(record, at))
    for record, at in seen.items():
        if record[:3] not in marked or at > marked[record[:3]]:
            yield *record, at


def is_own(rows: Rows, cluster: str, group: str, offset: int | None) -> bool:
    written = {"target_cluster": cluster, "group_id": group, "topic": "t", "partition": 0, "target_offset": offset}
    written |= {"outcome": "COMMITTED"}
    return offset is not None and any(written.items() <= row.items() for row in rows[OFFSET_TRANSLATIONS])


def has_commit(rows: Rows, *record: Any) -> bool:
    names = ("cluster", "log_partition", "log_offset", "captured_at")
    return any(tuple(row[name] for name in names) == record for row in rows[OFFSET_COMMITS])


def found(tables: MemoryTables, table: Table, *names: str) -> list[tuple[Any, ...]]:
    """Return what the replay has appended: the last version."""
    rows = tables.versions[table.name][-1]
    return sorted(zip(*(rows[name].to_pylist() for name in names), strict=True), key=str)


@law(150)
@given(st.randoms(use_true_random=False))
def test_what_is_replayed_is_what_has_not_been_and_is_not_there(rng: random.Random) -> None:
    rows, tables = any_rows(rng), MemoryTables(batch_rows=rng.randrange(1, 5))
    store: Any = tables
    for table, each in rows.items():
        full = [dict.fromkeys(table.names) | row for row in each]
        tables.append(table, pa.Table.from_pylist(full, table.arrow_schema))
    left = [*waiting(rows)]
    assert clusters_waiting(store) == {record[0] for record in left}
    decoded = [record for record in left if record[4] != UNREADABLE]
    wanted = [
        (*place, at, GROUP_OF[key], OFFSET_OF[value], is_own(rows, place[0], GROUP_OF[key], OFFSET_OF[value]))
        for *place, key, value, at in decoded
        if not has_commit(rows, *place, at)
    ]
    assert replay_quarantine(store) == len(wanted)
    if wanted:
        names = ("cluster", "log_partition", "log_offset", "captured_at", "group_id", "committed_offset", "is_own")
        assert found(tables, OFFSET_COMMITS, *names) == sorted(wanted, key=str)
    if decoded:
        marks = [(*record[:3], REPLAYED) for record in decoded]
        assert found(tables, QUARANTINE, "cluster", "partition", "offset", "error") == sorted(marks, key=str)
    replayed = {record[:3] for record in decoded}  # marked by its place, whatever life of the log it is of
    assert clusters_waiting(store) == {record[0] for record in left if record[:3] not in replayed}
    assert replay_quarantine(store) == 0
