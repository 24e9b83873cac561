"""Roll-ups against a plain-Python oracle, the order of badness, and which rows are asked for."""

from __future__ import annotations

import random
from typing import Any

import pytest

from builders.status_rows import Row
from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.model.errors import OffsetSyncError
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import GROUP, PAIR, SUMS, TOPIC, Report

PAIRS = (("dc1", "dc2"), ("dc1", "dc3"), ("dc2", "dc3"))
STATUS = random_status(random.Random(5), ["pay", "pay-eu", "audit", *HOSTILE_NAMES], pairs=[("a", "b"), ("b", "a")])
DRIFT = random_drift(random.Random(1), ["pay", "audit"], [("a", "b"), ("b", "a"), ("a", "c")], reports=2)
REPORT = Report(STATUS, DRIFT, REPORTED_AT)


def report(seed: int) -> Any:
    chance = random.Random(seed)
    rows = random_status(chance, [*(f"g{n}" for n in range(12)), *HOSTILE_NAMES], pairs=PAIRS)
    for row in chance.sample(rows, 20):
        row["lost"] = row["not_mirrored"] + chance.randint(0, 5)
        row["is_target_active"] = chance.choice([None, False])
    for row in chance.sample(rows, 10):
        row["lost"] = row["not_mirrored"] = row["mirror_lag"] = row["staleness_ms"] = None
    chance.shuffle(rows)
    return rows


def badness(row: Row) -> tuple[Any, ...]:
    counts = [-(row[name] or 0) for name in ("lost", "duplicates", "staleness_ms")]
    return (not row["skipped"], STATUS_WORDS.index(row["status"]), *counts)


@pytest.mark.parametrize("seed", range(5))
def test_a_roll_up_is_what_its_partitions_add_up_to_and_the_worst_come_first(seed: int) -> None:
    document = Report(report(seed), DRIFT, REPORTED_AT).document
    partitions = document["partitions"]
    assert partitions == sorted(partitions, key=badness)
    for name, by in (("pairs", PAIR), ("groups", GROUP), ("topics", TOPIC)):
        assert document[name] == sorted(document[name], key=badness)
        for row in document[name]:
            mine = [each for each in partitions if all(each[column] == row[column] for column in by)]
            assert (row["partitions"], row["reason"]) == (len(mine), mine[0]["reason"])
            assert row["statuses"] == {word: sum(each["status"] == word for each in mine) for word in STATUS_WORDS}
            assert row["unknown"] == sum(each["duplicates"] is None for each in mine)
            assert {each: row[each] for each in SUMS} == {each: sum(one[each] or 0 for one in mine) for each in SUMS}
            logs = {(each["topic"], each["partition"]): each["mirror_lag"] or 0 for each in reversed(mine)}
            assert row["mirror_lag"] == sum(logs.values())
            assert row["move"] == min((each["move"] for each in mine), key=["no", "at_cost", "now"].index)


def test_a_group_is_selected_by_its_whole_name() -> None:
    found = REPORT.select(["pay.*", "audit", ".*\\n.*"]).rows
    names = [row["group_id"] for row in STATUS]
    asked = [name for name in names if name.startswith("pay") or name == "audit" or "\n" in name]
    assert [row["group_id"] for row in found] == asked
    assert REPORT.select(()) is REPORT
    with pytest.raises(OffsetSyncError, match="--group: '\\['"):
        REPORT.select(["["])
