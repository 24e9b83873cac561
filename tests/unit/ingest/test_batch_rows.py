"""Rows of ``record_runs`` for what a micro-batch has read."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.ingest import batch_rows
from offset_sync.ingest.batch_rows import to_runs
from offset_sync.ingest.run_builder import CUT_SCHEMA

NOW = datetime(2026, 11, 25, tzinfo=timezone.utc)


def run(topic: str, partition: int, start: int) -> dict[str, Any]:
    """A record of Y that was written so many ms after the epoch as its offset says."""
    numbers = {"start_offset": start, "length": 1, "origin": "Y", "origin_start": start}
    return {"topic": topic, "partition": partition, "min_timestamp_ms": start, "max_timestamp_ms": -start} | numbers


@pytest.mark.parametrize("few", [-1, 64])
def test_runs_are_in_the_order_of_their_logs_and_have_their_times(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_rows, "FEW", few)
    places = [(topic, partition, start) for topic in ("orders", "pay") for partition in (0, 1, 10) for start in (2, 9)]
    shuffles = [random.Random(seed).sample(places, len(places)) for seed in range(3)]
    for shuffled in (places, places[:1], [("pay", 0, 2), ("orders", 0, 9)], *shuffles):
        rows = to_runs(pa.Table.from_pylist([run(*place) for place in shuffled], CUT_SCHEMA), "X", NOW).to_pylist()
        assert [(row["topic"], row["partition"], row["start_offset"]) for row in rows] == sorted(shuffled)
        assert {(row["cluster"], row["indexed_at"], row["complete_until"]) for row in rows} == {("X", NOW, None)}
        times = [(row["min_timestamp"].timestamp(), row["max_timestamp"].timestamp()) for row in rows]
        assert times == [(start / 1000, -start / 1000) for _, _, start in sorted(shuffled)]
