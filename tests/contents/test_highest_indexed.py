"""How far each log is known to reach, from what is indexed of it anywhere."""

from __future__ import annotations

from datetime import timedelta

from builders.index_rows import EPOCH, add, life, run
from fakes.tables import MemoryTables
from offset_sync.model.values import ClusterPartition
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECORD_RUNS, TRUNCATED


def test_fingerprints_count_that_are_not_aligned_yet() -> None:
    tables, log = MemoryTables(), ("Y", "orders", 0)
    kept = {"cluster": "Y", "topic": "orders", "partition": 0, "start_offset": 7, "length": 5, "read_at": EPOCH}
    earlier = kept | {"start_offset": 70, "read_at": EPOCH - timedelta(hours=1)}
    add(tables, RECORD_RUNS, run(0, 9, "X", 0, place=log))
    add(tables, RECORD_FINGERPRINTS, earlier, kept)
    add(tables, LOG_INCARNATIONS, life("Y", 9, -1, TRUNCATED))
    found = highest_indexed(tables)  # type: ignore[arg-type]
    assert found == {ClusterPartition("X", "orders", 0): 9, ClusterPartition(*log): 12}
