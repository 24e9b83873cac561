"""Roll-ups against a plain-Python oracle, the order of badness, and which rows are asked for."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from builders.status_rows import Row
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.model.errors import OffsetSyncError
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import GROUP, PAIR, SUMS, TOPIC, Report

KEY = (*GROUP, "topic", "partition")
PAIRS = (("dc1", "dc2"), ("dc1", "dc3"), ("dc2", "dc3"))
STATUS = random_status(random.Random(5), ["pay", "pay-eu", "audit", *HOSTILE_NAMES], pairs=[("a", "b"), ("b", "a")])
DRIFT = random_drift(random.Random(1), ["pay", "audit"], [("a", "b"), ("b", "a"), ("a", "c")], reports=2)
REPORT = Report(STATUS, DRIFT, REPORTED_AT)


def report(seed: int) -> pa.Table:
    chance = random.Random(seed)
    status = random_status(chance, [*(f"g{n}" for n in range(12)), *HOSTILE_NAMES], pairs=PAIRS)
    rows = status.to_pylist()
    for row in chance.sample(rows, 20):
        row["lost"] = row["not_mirrored"] + chance.randint(0, 5)
        row["is_target_active"] = chance.choice([None, False])
    for row in chance.sample(rows, 10):
        row["lost"] = row["not_mirrored"] = row["mirror_lag"] = row["staleness_ms"] = None
    chance.shuffle(rows)
    return pa.Table.from_pylist(rows, status.schema)


def skipped(row: Row) -> int:
    return row["skipped"] if "skipped" in row else max((row["lost"] or 0) - (row["not_mirrored"] or 0), 0)


def expected_move(rows: list[Row]) -> str:
    for row in rows:
        is_blocked = row["status"] in ("Withheld", "TargetActive") or skipped(row) or row["is_target_active"] is None
        if is_blocked or row["duplicates"] is None:
            return "no"
    costs = ("lost", "duplicates", "duplicates_at_most")
    is_free = all(row["status"] == "InSync" and not any(row[name] for name in costs) for row in rows)
    return "now" if is_free else "at_cost"


def badness(row: Row) -> tuple[Any, ...]:
    counts = [-(row[name] or 0) for name in ("lost", "duplicates", "staleness_ms")]
    names = [row[name] for name in (*GROUP, "topic", "partition") if name in row]
    return (not skipped(row), STATUS_WORDS.index(row["status"]), *counts, *names)


def rolled(rows: list[Row]) -> Row:
    logs = {tuple(row[name] for name in (*TOPIC, "partition")): row for row in sorted(rows, key=badness, reverse=True)}
    words = Counter(row["status"] for row in rows)
    sums = {name: sum(row[name] or 0 for row in rows) for name in SUMS if name != "skipped"}
    return sums | {
        "status": min(words, key=STATUS_WORDS.index),
        "reason": min(rows, key=badness)["reason"],
        "statuses": {word: words[word] for word in STATUS_WORDS},
        "partitions": len(rows),
        "unknown": sum(row["duplicates"] is None for row in rows),
        "skipped": sum(map(skipped, rows)),
        "mirror_lag": sum(row["mirror_lag"] or 0 for row in logs.values()),
        "staleness_ms": max(row["staleness_ms"] or 0 for row in rows),
        "move": expected_move(rows),
    }


@pytest.mark.parametrize("seed", range(5))
def test_a_roll_up_is_what_its_partitions_add_up_to_and_the_worst_come_first(seed: int) -> None:
    status = report(seed)
    document = Report(status, DRIFT, REPORTED_AT).document
    order = sorted(status.to_pylist(), key=badness)
    assert [[row[name] for name in KEY] for row in document["partitions"]] == [[r[name] for name in KEY] for r in order]
    for name, by in (("pairs", PAIR), ("groups", GROUP), ("topics", TOPIC)):
        parts: dict[tuple[Any, ...], list[Row]] = {}
        for row in status.to_pylist():
            parts.setdefault(tuple(row[column] for column in by), []).append(row)
        expected = {key: dict(zip(by, key, strict=True)) | rolled(rows) for key, rows in parts.items()}
        found = {tuple(row[column] for column in by): row for row in document[name]}
        assert {key: {name: found[key][name] for name in row} for key, row in expected.items()} == expected
        assert [*found] == sorted(
            expected, key=lambda key: badness(expected[key] | {"not_mirrored": expected[key]["lost"]})
        )


def test_a_row_is_selected_by_its_whole_names_and_its_status() -> None:
    rows = STATUS.to_pylist()
    found = REPORT.select(["pay.*", "audit", ".*\\n.*"], ["orders"], ["Behind", "InSync"]).status.to_pylist()
    assert found == [
        row
        for row in rows
        if row["topic"] == "orders"
        and row["status"] in ("Behind", "InSync")
        and (row["group_id"].startswith("pay") or row["group_id"] == "audit" or "\n" in row["group_id"])
    ]
    assert REPORT.select((), (), ()) is REPORT
    with pytest.raises(OffsetSyncError, match="topic: '\\['"):
        REPORT.select((), ["["], ())
