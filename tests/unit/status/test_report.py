"""Roll-ups against a plain-Python oracle, the order of badness, and which rows are asked for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from builders.status_rows import Row
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import (
    AT_COST,
    GROUP,
    NO,
    NOW,
    PAIR,
    PER_LOG,
    SUMS,
    TOPIC,
    Report,
    rank_statuses,
    roll_up,
)

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
    return max((row["lost"] or 0) - (row["not_mirrored"] or 0), 0)


def expected_move(rows: list[Row]) -> str:
    for row in rows:
        is_blocked = row["status"] in ("Withheld", "TargetActive") or skipped(row) or row["is_target_active"] is None
        if is_blocked or row["duplicates"] is None:
            return NO
    is_free = all(
        r["status"] == "InSync" and not (r["lost"] or r["duplicates"] or r["duplicates_at_most"]) for r in rows
    )
    return NOW if is_free else AT_COST


def badness(row: Row) -> tuple[Any, ...]:
    counts = [-(row[name] or 0) for name in ("lost", "duplicates", "staleness_ms")]
    return (
        not skipped(row),
        STATUS_WORDS.index(row["status"]),
        *counts,
        *(row[name] for name in (*GROUP, "topic", "partition")),
    )


def rolled(rows: list[Row]) -> Row:
    worst = min(rows, key=badness)
    logs = {
        (r["source_cluster"], r["target_cluster"], r["topic"], r["partition"]): r
        for r in sorted(rows, key=badness, reverse=True)
    }
    sums = {name: sum(r[name] or 0 for r in rows) for name in SUMS if name != "skipped"}
    words = Counter(r["status"] for r in rows)
    return {
        "status": min((r["status"] for r in rows), key=STATUS_WORDS.index),
        "reason": worst["reason"],
        **{word: words[word] for word in STATUS_WORDS},
        "partitions": len(rows),
        "unknown": sum(r["duplicates"] is None for r in rows),
        **sums,
        "skipped": sum(map(skipped, rows)),
        **{name: sum(r[name] or 0 for r in logs.values()) for name in PER_LOG},
        "staleness_ms": max((r["staleness_ms"] for r in rows if r["staleness_ms"] is not None), default=None),
        "move": expected_move(rows),
    }


@pytest.mark.parametrize("by", [GROUP, PAIR, TOPIC], ids=["group", "pair", "topic"])
@pytest.mark.parametrize("seed", range(5))
def test_a_roll_up_is_what_its_partitions_add_up_to(by: tuple[str, ...], seed: int) -> None:
    status = report(seed)
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in status.to_pylist():
        parts.setdefault(tuple(row[name] for name in by), []).append(row)
    found = {tuple(row[name] for name in by): row for row in roll_up(status, by).to_pylist()}
    assert found.keys() == parts.keys()
    for key, rows in parts.items():
        expected = rolled(rows)
        assert {name: found[key][name] for name in expected} == expected
    for name, column in (("topics", "topic"), ("groups", "group_id")):
        if column not in by:
            assert {k: r[name] for k, r in found.items()} == {
                k: len({r[column] for r in rows}) for k, rows in parts.items()
            }


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_partitions_come_first_in_an_order_of_their_own(seed: int) -> None:
    status = report(seed)
    ranked = rank_statuses(status).select(status.column_names).to_pylist()
    assert ranked == sorted(status.to_pylist(), key=badness)
    shuffled = status.take(pa.array(random.Random(seed).sample(range(status.num_rows), status.num_rows)))
    assert roll_up(shuffled, GROUP).equals(roll_up(status, GROUP))


@pytest.mark.parametrize(
    ("groups", "topics", "statuses", "is_wanted"),
    [
        ((), (), (), lambda row: True),
        (
            ["pay.*", "audit"],
            ["orders"],
            (),
            lambda row: row["group_id"].startswith(("pay", "aud")) and row["topic"] == "orders",
        ),
        ([".*\\n.*"], (), (), lambda row: "\n" in row["group_id"]),
        ((), (), ["behind", "InSync"], lambda row: row["status"] in ("Behind", "InSync")),
    ],
)
def test_a_row_is_selected_by_its_whole_names_and_its_status(
    groups: Sequence[str], topics: Sequence[str], statuses: Sequence[str], is_wanted: Callable[[Row], bool]
) -> None:
    expected = list(filter(is_wanted, STATUS.to_pylist()))
    assert REPORT.select(groups, topics, statuses).status.to_pylist() == expected != []
