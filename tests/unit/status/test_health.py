"""Is the sync healthy? Each reason alone is enough. Drift, of which reports tell."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.status_rows import status_rows
from generators.hypothesis_strategies import law
from generators.reports import REPORTED_AT, random_drift
from offset_sync.model.reasons import Reason
from offset_sync.status.report import DriftWindow, Report

CALM = random_drift(random.Random(3), ["a", "b"], reports=5)


def report(**changes: Any) -> Any:
    return status_rows(changes, {"partition": 1}, {"partition": 2})


def problems(status: Any, drift: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Report(status, drift, REPORTED_AT).document["problems"]
    return found


def drift_with(**changes: Any) -> pa.Table:
    rows = CALM.to_pylist()
    newest = max(row["at"] for row in rows)
    for row in rows:
        if row["at"] == newest and row["group_id"] == changes.get("group_id"):
            row.update(changes)
    return pa.Table.from_pylist(rows, CALM.schema)


ONE = Reason.OF_ROWS(1, 1)


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({}, None, None),
        ({"status": "TargetActive", "is_target_active": True}, None, None),
        ({"status": "Behind", "staleness_ms": 60_000, "duplicates": 7}, None, None),
        ({"status": "Mirroring", "lost": 9, "not_mirrored": 9}, None, None),
        ({"status": "Stalled", "reason": "no answer"}, "Stalled", Reason.STALLED(of=ONE, why=" (no answer)")),
        ({"status": "Withheld", "reason": "A\nB"}, "Withheld", Reason.WITHHELD(of=ONE, why=r" (A\u000aB)")),
        ({"lost": 3, "not_mirrored": 1}, None, Reason.SKIPPING(of=ONE, skipped=2)),
    ],
)
def test_one_bad_partition_is_not_healthy(changes: dict[str, Any], status: str | None, text: str | None) -> None:
    found = problems(report(**changes), CALM)
    assert found == ([{"status": status, "text": text}] if text else [])


def test_drift_that_has_not_converged_is_not_healthy() -> None:
    behind = report(status="Behind", staleness_ms=1)
    pair = drift_with(group_id=None, is_converged=False, windowed_change=12345)
    assert problems(behind, pair) == [{"status": None, "text": Reason.PAIR_DRIFTS("dc1 → dc2", "12,345")}]
    assert problems(report(), pair) == [], "all of it may be moved at no cost"
    group = problems(report(status="TargetActive", group_id="b"), drift_with(group_id="b", is_converged=None))
    assert group == [{"status": None, "text": Reason.GROUPS_DRIFT(1, "b")}]


START = datetime(2026, 3, 1, tzinfo=timezone.utc)
Row = dict[str, Any]


def drifted(window: DriftWindow, at_ms: int, **offsets: tuple[int, int | None]) -> dict[str | None, Row]:
    """Return the rows of sync_drift for groups at these offsets, at the source and at the target; None: the pair's."""
    rows = [
        {"group_id": group_id, "source_offset": f, "target_offset": g} for group_id, (f, g) in sorted(offsets.items())
    ]
    at = START + timedelta(milliseconds=at_ms)
    found = [row for row in window.add(status_rows(*rows), at).to_pylist() if row["at"] == at]
    assert [row["group_id"] is not None for row in found] == sorted(row["group_id"] is not None for row in found)
    return {row["group_id"]: row for row in found}


def test_a_pair_is_the_sum_of_its_groups_and_comes_first() -> None:
    window = DriftWindow(timedelta(seconds=1), 10)
    drifted(window, 0, a=(5, 1), b=(7, 7))
    found = drifted(window, 500, b=(7, 2), a=(25, 6))
    pair = found[None]
    assert (pair["partitions"], pair["source_offsets"], pair["target_offsets"]) == (2, 32, 8)
    assert (pair["drift"], pair["change"], pair["windowed_change"]) == (24, 20, 20)
    # Each group may be away by ten.
    assert [row["is_converged"] for row in found.values()] == [True, False, True]
    assert [*drifted(window, 600, a=(5, None), b=(5, 3))] == [None, "b"]


@law(100)
@given(st.integers(0, 10**6), st.sampled_from([0, 1000, 5000]))
def test_the_change_of_the_window_is_the_sum_of_the_changes_in_it(seed: int, window_ms: int) -> None:
    rng, window = random.Random(seed), DriftWindow(timedelta(milliseconds=window_ms), 0)
    at_ms, changes = 0, list[tuple[int, int]]()
    for _ in range(12):
        at_ms += rng.choice([500, 1000, 3000])
        row = drifted(window, at_ms, a=(rng.randint(0, 99), rng.randint(0, 99)))["a"]
        changes.append((at_ms, row["change"]))
        assert row["windowed_change"] == sum(change for at, change in changes if at > at_ms - max(window_ms, 1))
