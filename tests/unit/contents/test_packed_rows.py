"""Packed fingerprints as rows of the table."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from fakes.tables import MemoryFrame
from offset_sync.contents.content_query import range_rows
from offset_sync.contents.packed import FINGERPRINT, FingerprintBuilder
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.model.values import ClusterPartition
from offset_sync.state.incarnations import epoch_ms

ORIGINALS = ClusterPartition("dc1", "orders", 0)


@dataclass
class Reading(MemoryFrame):
    """Says when its records were read."""

    begun: list[datetime] = field(default_factory=list)

    def coalesce(self, _partitions: int) -> MemoryFrame:
        self.begun.append(datetime.now(timezone.utc))
        time.sleep(0.005)
        return self


def test_originals_that_are_read_again_count_as_read_before_a_life_that_is_noticed_meanwhile() -> None:
    """The log may be cut and noticed to be while they are read: then they are of the life before, or may be."""
    raw = pa.table({"topic": ["orders"], "partition": pa.array([0], pa.int32()), "offset": [3], FINGERPRINT: [7]})
    frame: Any = Reading(raw)
    rows = range_rows(ORIGINALS, OffsetRange(0, 4), FingerprintBuilder("dc1", {}, lambda _stream: True), frame)
    assert [epoch_ms(at) for at in rows.column("read_at").to_pylist()] <= [epoch_ms(frame.begun[0])]
    assert rows.column("length").to_pylist() == [4]
