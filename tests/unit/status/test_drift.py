"""f - g, its change and the change over a window."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.status.report import DriftWindow
from offset_sync.tables.catalog import SYNC_STATUS

Row = dict[str, Any]
START = datetime(2026, 3, 1, tzinfo=timezone.utc)


class Drifting:
    """A window of so many ms; *a* is the group in orders-0, *b* that in orders-1."""

    def __init__(self, window_ms: int, threshold: int = 0) -> None:
        self.window = DriftWindow(timedelta(milliseconds=window_ms), threshold)

    def add(self, at_ms: int, **offsets: tuple[int, int | None]) -> list[Row]:
        """Return the rows of sync_drift for groups at these offsets, at the source and at the target."""
        pair = {"source_cluster": "X", "target_cluster": "Y", "topic": "orders"}
        rows = [
            {**pair, "group_id": group_id, "partition": "ab".index(group_id), "source_offset": f, "target_offset": g}
            for group_id, (f, g) in offsets.items()
        ]
        status = pa.Table.from_pylist(rows, SYNC_STATUS.arrow_schema)
        found: list[Row] = self.window.add(status, START + timedelta(milliseconds=at_ms)).to_pylist()
        return found


def of(found: list[Row], group_id: str | None) -> Row:
    (one,) = [row for row in found if row["group_id"] == group_id]
    return one


def test_a_pair_is_the_sum_of_its_groups_and_comes_first() -> None:
    drifting = Drifting(1000, 10)
    drifting.add(0, a=(5, 1), b=(7, 7))
    found = drifting.add(500, b=(7, 2), a=(25, 6))
    assert [row["group_id"] for row in found] == [None, "a", "b"]
    pair = found[0]
    assert (pair["partitions"], pair["source_offsets"], pair["target_offsets"]) == (2, 32, 8)
    assert (pair["drift"], pair["change"], pair["windowed_change"]) == (24, 20, 20)
    assert [row["group_id"] for row in drifting.add(600, a=(5, None), b=(5, 3))] == [None, "b"]
    # Each group may be away by ten.
    assert [row["is_converged"] for row in found] == [True, False, True]


@law(100)
@given(st.integers(0, 10**6), st.sampled_from([0, 1000, 5000]))
def test_the_change_of_the_window_is_the_sum_of_the_changes_in_it(seed: int, window_ms: int) -> None:
    rng, drifting = random.Random(seed), Drifting(window_ms)
    at_ms, changes = 0, list[tuple[int, int]]()
    for _ in range(12):
        at_ms += rng.choice([500, 1000, 3000])
        row = of(drifting.add(at_ms, a=(rng.randint(0, 99), rng.randint(0, 99))), "a")
        changes.append((at_ms, row["change"]))
        inside = [change for when, change in changes if when > at_ms - max(window_ms, 1)]
        assert row["windowed_change"] == sum(inside)
