"""A report waits for the index, not for ever and not twice in vain."""

from __future__ import annotations

from dataclasses import dataclass, field

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.kafka.retry import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.sync_state import SyncState
from offset_sync.status.job_progress import IndexCatchUp

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


@dataclass
class Waiting:
    """An index that grows by *steps* of records with every look at the tables, and a clock."""

    steps: list[int] = field(default_factory=list)
    seconds: float = 0.0
    end: int = 10
    is_indexing: bool = True

    def __post_init__(self) -> None:
        self.index = MemoryIndex()
        self.index.extend(log("X", "X0:4"), ORDERS)
        self.index.refresh = self.refresh  # type: ignore[method-assign]
        clock = Clock(lambda: self.seconds, self.pause)
        state = SyncState(config_of(["X", "Y"]), self.index)
        self.catch_up = IndexCatchUp(state, 5.0, clock, lambda: self.is_indexing)

    def pause(self, seconds: float) -> None:
        self.seconds += seconds

    def refresh(self) -> None:
        if self.steps:
            self.index.extend(log("X", f"X0:{self.steps.pop(0)}"), ORDERS)

    def waited(self, **metadata: ClusterMetadata | ClusterError) -> float:
        before = self.seconds
        self.catch_up.wait(metadata or {"X": ClusterMetadata({}, {ORDERS: MemoryEnds(0, self.end)})})
        return round(self.seconds - before, 1)


def test_nothing_is_waited_for_where_all_is_indexed_or_nobody_answers() -> None:
    waiting = Waiting(end=4)
    assert waiting.waited() == 0
    assert waiting.waited(X=ClusterError("X", "no answer")) == 0


def test_the_index_is_looked_at_until_it_has_reached_the_ends() -> None:
    waiting = Waiting([6, 8, 10, 12])
    assert (waiting.waited(), waiting.steps) == (0.6, [12])


def test_patience_ends_and_is_not_lost_again_on_an_index_that_stands_still() -> None:
    waiting = Waiting()
    assert [waiting.waited(), waiting.waited()] == [5.0, 0]
    waiting.steps = [6, 7]
    waiting.refresh()
    assert waiting.waited() >= 5.0
    assert waiting.index.logs["X", "orders", 0].frontier == 7


def test_a_partition_that_stands_still_does_not_keep_the_others_from_being_waited_for() -> None:
    waiting = Waiting()
    both = ClusterMetadata({}, {ORDERS: MemoryEnds(0, 10), OTHER: MemoryEnds(0, 1)})
    waiting.waited(X=both)
    waiting.steps = [6, 10]
    waiting.refresh()
    assert waiting.waited(X=both) == 0.2


def test_where_nobody_indexes_nothing_is_waited_for() -> None:
    waiting = Waiting(is_indexing=False)
    assert waiting.waited() == 0
