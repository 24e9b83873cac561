"""Is the sync healthy? Each reason alone is enough, and what is normal is none."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from builders.status_rows import status_table
from generators.reports import random_drift
from offset_sync.model.values import Status
from offset_sync.status.health import find_problems

CALM = random_drift(random.Random(3), ["a", "b"], reports=5)


def report(**changes: Any) -> pa.Table:
    return status_table(changes, {"partition": 1}, {"partition": 2})


def drift_with(**changes: Any) -> pa.Table:
    rows = CALM.to_pylist()
    newest = max(row["at"] for row in rows)
    for row in rows:
        if row["at"] == newest and row["group_id"] == changes.get("group_id"):
            row.update(changes)
    return pa.Table.from_pylist(rows, CALM.schema)


BAD = "1 partition of 1 group: "


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({}, None, None),
        ({"status": "TargetActive", "is_target_active": True}, None, None),
        ({"status": "Behind", "staleness_ms": 60_000, "duplicates": 7}, None, None),
        ({"status": "Mirroring", "lost": 9, "not_mirrored": 9, "mirror_lag_ms": 300_000}, None, None),
        ({"status": "Mirroring", "mirror_lag_ms": 900_000}, None, None),
        ({"status": "Stalled", "reason": "no answer"}, Status.STALLED, "Stalled (no answer)"),
        ({"status": "Withheld", "reason": "A\nB"}, Status.WITHHELD, r"Withheld (A\u000aB)"),
        ({"status": "Behind", "staleness_ms": 60_001}, Status.BEHIND, "Behind for more than 1 min"),
        ({"status": "Behind", "staleness_ms": None}, Status.BEHIND, "Behind for more than 1 min"),
        ({"lost": 3, "not_mirrored": 1}, None, "2 unread records at the target would be skipped"),
        (
            {"status": "Mirroring", "lost": 3, "not_mirrored": 3, "mirror_lag_ms": 300_001},
            Status.MIRRORING,
            "3 unread records waiting for the mirror for more than 5 min",
        ),
    ],
)
def test_one_bad_partition_is_not_healthy(changes: dict[str, Any], status: Status | None, text: str | None) -> None:
    found = find_problems(report(**changes), CALM)
    assert [(problem.text, problem.status) for problem in found] == ([(f"{BAD}{text}", status)] if text else [])


def test_drift_that_has_not_converged_is_not_healthy() -> None:
    behind = report(status="Behind", staleness_ms=1)
    pair = find_problems(behind, drift_with(group_id=None, is_converged=False, windowed_change=12345))
    assert [problem.text for problem in pair] == ["Offsets of dc1 → dc2 drift apart: by 12,345 in the window"]
    group = find_problems(report(), drift_with(group_id="b", is_converged=False))
    assert [problem.text for problem in group] == ["Offsets of 1 group drift apart: b"]
    assert find_problems(report(), drift_with(group_id="b", is_converged=None))
