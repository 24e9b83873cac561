"""Before anything is translated: has a log been cut since the index looked at it?"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from fakes.reconciler_site import ORDERS
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, EpochEnd, ReportedEnd, TopicPartition
from offset_sync.state import checked_metadata
from offset_sync.state.checked_metadata import CheckedMetadata
from offset_sync.state.cluster_metadata import ClusterMetadata
from tools.waiting import until

AT_X = ClusterPartition("X", *ORDERS)


@dataclass
class Leaders:
    """X, whose log is under leader epoch 5; *told_epoch* ended at *ended*, None: it does not say. Indexed up to 10."""

    ended: int | None = 10
    told_epoch: int = 4
    patience_s: float = 60.0
    asked: list[dict[TopicPartition, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.index, self.returned, self.is_refused = MemoryIndex(), threading.Event(), False
        self.index.extend(log("X", "X0:10"), ORDERS)
        self.index.epochs[AT_X] = ("id", 4)
        self.checked = CheckedMetadata(self, self.index, {"X": self}, self.returned.set, patience_s=self.patience_s)

    def fetch(self, aliases: Collection[str], _partitions: object) -> dict[str, ClusterMetadata]:
        return {
            alias: ClusterMetadata({"orders": MemoryTopic("id")}, {ORDERS: MemoryEnds(0, 12, 5)}) for alias in aliases
        }

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], _deadline: float
    ) -> dict[TopicPartition, ReportedEnd]:
        self.asked.append({each: epoch.known for each, epoch in epochs.items()})
        if self.is_refused:
            raise ClusterError("X", "no consumer could be made")
        if self.ended is None:
            return {}
        return {each: epoch.end(self.ended, self.told_epoch) for each, epoch in epochs.items()}

    def look(self) -> tuple[str, object]:
        """Return what the log counts as, and where the epoch before has ended, with which commits are compared."""
        said = self.checked.fetch(["X"], [ORDERS])["X"]
        assert isinstance(said, ClusterMetadata)
        found = "cut" if ORDERS in said.cut else "unknown" if ORDERS in said.unsettled else "whole"
        return found, dict(said.ended)


@pytest.mark.parametrize(
    ("told_epoch", "ended", "began", "found", "told"),
    [
        (4, 9, None, "cut", 9),
        (4, 10, None, "whole", 10),
        (3, 10, None, "whole", 10),  # a partition that was idle in an epoch looks so too
        (3, 9, None, "cut", None),
        (3, 15, 10, "whole", 10),  # the leader's own records of the epoch before may reach beyond what is indexed
        (3, 15, 8, "cut", 8),
    ],
)
def test_a_log_is_cut_if_its_last_epoch_ended_below_what_is_indexed_or_began_there_and_the_leader_has_none_of_it(
    told_epoch: int, ended: int, began: int | None, found: str, told: int | None
) -> None:
    leaders = Leaders(ended, told_epoch)
    if began is not None:
        leaders.index.ended[AT_X] = [EpochEnd(4, began, 3)]
    wanted = found, {} if told is None else {ORDERS: EpochEnd(5, told)}
    assert [leaders.look(), leaders.look(), leaders.asked] == [wanted, wanted, [{ORDERS: 4}]]


@pytest.mark.parametrize("is_refused", [False, True])
def test_without_an_answer_the_log_is_unknown_and_queried_again(
    monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    monkeypatch.setattr(checked_metadata, "RETRY_S", 0.2)
    leaders = Leaders(None, patience_s=0.05)
    leaders.is_refused = is_refused
    assert (leaders.look()[0], leaders.returned.is_set()) == ("unknown", False)
    leaders.ended, leaders.is_refused = 10, False
    until(lambda: leaders.look()[0] != "unknown")
    assert (leaders.look()[0], leaders.returned.is_set(), len(leaders.asked)) == ("whole", True, 2)
