"""What retention is told of the clusters and the commits: whatever is not known keeps a partition whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from builders.commits import acknowledge, commit, take_in
from builders.index_rows import add, begin, edge, life, run
from fakes.sealed_tables import SealedInMemory
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.index_retention import Retention, lowest_commits
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS

ORDERS = TopicPartition("orders", 0)
X, Y = ClusterPartition("X", "orders", 0), ClusterPartition("Y", "orders", 0)


class World:
    """100 records of X in both logs, of which the first 50 are deleted; one group has read 70 of them at X."""

    def __init__(self) -> None:
        self.lowest: dict[Any, int] = {X: 70, Y: 70}
        self.metadata, self.tables = dict[str, Any](), SealedInMemory(group_rows=1)
        for place in (X, Y):
            rows = [run(start, 10, "X", start, place=place) for start in range(0, 100, 10)]
            add(self.tables, RECORD_RUNS, begin(0, place=place), *rows, edge(100, place=place))
            add(self.tables, LOG_INCARNATIONS, life(place.cluster, 0, reason="ELECTED"))
            self.describe(place.cluster)
        self.tables.seal(100)

    def describe(self, alias: str, start: int = 50, end: int = 100, topic_id: str = "id") -> None:
        topics: Any = {"orders": SimpleNamespace(topic_id=topic_id, partitions=1)}
        ends: Any = {ORDERS: SimpleNamespace(log_start=start, log_end=end)}
        self.metadata[alias] = ClusterMetadata(topics, ends)

    def found(self) -> tuple[list[int], dict[str, int]]:
        """Return where the logs of X and Y may begin, and why they stay whole."""
        tables: Any = self.tables
        index = RecordIndex(tables)
        index.refresh()
        found, reasons = Retention(index, self.metadata, self.lowest, 1000).begins([ORDERS])
        return list(found.values()), reasons


SILENT = ClusterError("Y", "no answer")
UNDESCRIBED = ClusterMetadata({}, {}, {"orders": SILENT})


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda world: None, 50),
        (lambda world: [world.describe(alias, start=100) for alias in "XY"], 70),
        (lambda world: world.lowest.update({X: 25}), 20),
        (lambda world: world.metadata.update(Y=SILENT), "Y does not answer"),
        (lambda world: world.metadata.update(Y=ClusterMetadata({}, {})), "Y does not have it any more"),
        (lambda world: world.metadata.update(Z=UNDESCRIBED), "Z does not let it be described"),
        (lambda world: world.metadata["Y"].ends.clear(), "Y has no leader for it"),
        (lambda world: world.describe("Y", topic_id="another"), "Y has another log than was indexed"),
        (
            lambda world: add(world.tables, LOG_INCARNATIONS, life("Y", 0, reason="ELECTED") | {"topic_id": "second"}),
            "Y has another log than was indexed",
        ),
        (lambda world: add(world.tables, LOG_INCARNATIONS, life("Y", 70)), "Y had other records before"),
        (lambda world: world.describe("Y", end=101), "Y has not indexed it to its end"),
        (lambda world: world.describe("Z"), "Z has not indexed it"),
        (
            lambda world: add(world.tables, RECORD_RUNS, run(5, 2, "Z", 5, place=Y)),
            "Y has another log than was indexed",
        ),
    ],
)
def test_what_is_deleted_and_read_may_go_unless_anything_about_a_partition_is_unknown(
    change: Any, found: int | str
) -> None:
    world = World()
    change(world)
    assert world.found() == (([], {found: 1}) if isinstance(found, str) else ([found, found], {}))


def test_the_lowest_commit_is_among_present_and_translated_ones() -> None:
    offsets = CommittedOffsets(["X", "Y"])
    acknowledge(offsets, 44, group="a", alias="Y")
    take_in(offsets, commit(44, 2, group="a"), alias="Y")
    last = [commit(5, 1, group="left-out"), commit(10, 1, group="c"), commit(None, 2, group="c")]
    take_in(offsets, commit(40, 1, group="a"), commit(30, 1, group="b"), *last)
    assert lowest_commits(offsets, lambda group: group != "left-out") == {X: 30, Y: 44}
