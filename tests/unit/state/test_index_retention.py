"""What retention is told of the clusters and the commits: whatever is not known keeps a partition whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from builders.index_rows import add, begin, edge, life, run, topic
from fakes.clusters import CommitRecord, to_records
from fakes.tables import MemoryTables
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, GroupPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.index_retention import Retention, lowest_commits, unsealed_rows
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import INDEXED_TOPICS, LOG_INCARNATIONS, RECORD_RUNS

ORDERS = TopicPartition("orders", 0)
X, Y = ClusterPartition("X", "orders", 0), ClusterPartition("Y", "orders", 0)


@dataclass
class World:
    """100 records of X in both logs, of which the first 50 are deleted; one group has read 70 of them at X."""

    lowest: dict[Any, int] = field(default_factory=lambda: {X: 70, Y: 70})
    metadata: dict[str, Any] = field(default_factory=dict)
    tables: MemoryTables = field(default_factory=MemoryTables)
    old_before_ms: int = 1000

    def __post_init__(self) -> None:
        for place in (X, Y):
            rows = [run(start, 10, "X", start, place=place) for start in range(0, 100, 10)]
            add(self.tables, RECORD_RUNS, begin(0, place=place), *rows, edge(100, place=place))
            add(self.tables, INDEXED_TOPICS, topic("id", cluster=place.cluster))
            self.describe(place.cluster)

    def describe(self, alias: str, start: int = 50, end: int = 100, topic_id: str = "id") -> None:
        ends = {ORDERS: SimpleNamespace(log_start=start, log_end=end)}
        self.metadata[alias] = ClusterMetadata({"orders": SimpleNamespace(topic_id=topic_id, partitions=1)}, ends)

    def retention(self) -> Retention:
        index: Any = RecordIndex(self.tables)  # type: ignore[arg-type]
        index.refresh()
        tables: Any = self.tables
        return Retention(index, unsealed_rows(tables), self.metadata, self.lowest, self.old_before_ms)

    def begins(self) -> dict[str, int]:
        return {alias: begin for (alias, _, _), begin in self.retention().begins([ORDERS]).items()}

    def reasons(self) -> dict[str, int]:
        return self.retention().reasons([ORDERS])


def test_what_is_deleted_and_read_may_go_up_to_a_row() -> None:
    assert World().begins() == {"X": 50, "Y": 50}
    world = World()
    world.describe("X", start=61)
    world.describe("Y", start=69)
    assert world.begins() == {"X": 60, "Y": 60}
    assert world.reasons() == {}
    world.describe("X", start=100)
    world.describe("Y", start=100)
    assert world.begins() == {"X": 70, "Y": 70}, "a group has to read on from there"
    world.lowest = {X: 25, Y: 70}
    assert world.begins() == {"X": 20, "Y": 20}
    world.lowest = {}
    add(world.tables, RECORD_RUNS, run(40, 1, "X", 40, place=Y, seen_ms=1000))
    assert world.begins() == {"X": 40, "Y": 40}, "rows that are young stay"


SILENT = ClusterError("Y", "no answer")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda world: world.metadata.update(Y=SILENT), "Y does not answer"),
        (lambda world: world.metadata.update(Y=ClusterMetadata({}, {})), "Y does not have it any more"),
        (
            lambda world: world.metadata.update(Y=ClusterMetadata({}, {}, {"orders": SILENT})),
            "Y does not let it be described",
        ),
        (
            lambda world: world.metadata.update(Z=ClusterMetadata({}, {}, {"orders": SILENT})),
            "Z does not let it be described",
        ),
        (lambda world: world.metadata["Y"].ends.clear(), "Y has no leader for it"),
        (lambda world: world.describe("Y", topic_id="another"), "Y has another log than was indexed"),
        (lambda world: add(world.tables, INDEXED_TOPICS, topic("second")), "Y has another log than was indexed"),
        (
            lambda world: add(world.tables, LOG_INCARNATIONS, life("Y", 70)),
            "Y had other records before",
        ),
        (lambda world: world.describe("Y", end=101), "Y has not indexed it to its end"),
        (lambda world: world.describe("Z"), "Z has not indexed it"),
        (
            lambda world: add(world.tables, RECORD_RUNS, run(5, 2, "Z", 5, place=Y)),
            "Y has another log than was indexed",
        ),
    ],
)
def test_a_partition_stays_whole_where_anything_about_it_is_unknown(change: Any, reason: str) -> None:
    world = World()
    change(world)
    assert world.begins() == {}
    assert world.reasons() == {reason: 1}


def commit(
    committed: CommittedOffsets, alias: str, group: str, offset: int, at_ms: int, number: int, *, is_own: bool = False
) -> None:
    key = committed.ids([GroupPartition(group, "orders", 0)])
    if is_own:
        committed.clusters[alias].own_writes.begin(key, np.array([offset]))
    record = CommitRecord(group, ORDERS, None if offset < 0 else offset, at_ms)
    committed.clusters[alias].record(to_records([record], key.tolist(), number))


def test_the_lowest_commit_is_among_present_and_translated_ones() -> None:
    committed = CommittedOffsets(["X", "Y"])
    commit(committed, "X", "a", 40, 1, 1)
    commit(committed, "Y", "a", 44, 2, 1, is_own=True)
    commit(committed, "X", "b", 30, 1, 2)
    commit(committed, "X", "c", 10, 1, 3)
    commit(committed, "X", "c", -1, 2, 4)
    commit(committed, "X", "left-out", 5, 1, 5)
    found = lowest_commits(committed, lambda group: group != "left-out")
    assert found == {X: 30, Y: 44}
