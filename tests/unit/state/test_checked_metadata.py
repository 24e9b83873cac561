"""Before anything is translated: has a log been cut since the index looked at it?"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, EpochEnd, ReportedEnd, TopicPartition
from offset_sync.state import checked_metadata
from offset_sync.state.checked_metadata import CheckedMetadata
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler

AT_X, AT_Y = ClusterPartition("X", *ORDERS), ClusterPartition("Y", *ORDERS)


@dataclass
class Leaders:
    """Clusters whose logs are under leader epoch *now*; *told_epoch* ended at *ended*, None: they do not say."""

    now: int | None = 5
    ended: int | None = 10
    told_epoch: int = 4
    topic_id: str = "id"
    is_refused: bool = False
    asked: list[Mapping[TopicPartition, int]] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)
    returned: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.index = MemoryIndex()
        self.index.extend(log("X", "X0:10"), ORDERS)
        self.index.epochs[AT_X] = ("id", 4)
        self.may_answer.set()
        self.checked = CheckedMetadata(self, self.index, {"X": self, "Y": self}, self.returned.set, patience_s=60)

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> dict[str, ClusterMetadata]:
        ends = dict.fromkeys(partitions, MemoryEnds(0, 12, self.now))
        return {alias: ClusterMetadata({"orders": MemoryTopic(self.topic_id)}, ends) for alias in aliases}

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float
    ) -> dict[TopicPartition, ReportedEnd]:
        self.asked.append({each: epoch.known for each, epoch in epochs.items()})
        assert self.may_answer.wait(30)
        if self.is_refused:
            raise ClusterError("X", "no consumer could be made")
        if self.ended is None:
            return {}
        return {each: epoch.end(self.ended, min(self.told_epoch, epoch.known)) for each, epoch in epochs.items()}

    def said(self, place: TopicPartition = ORDERS) -> ClusterMetadata:
        said = self.checked.fetch(["X"], [place])["X"]
        assert isinstance(said, ClusterMetadata)
        return said

    def look(self) -> str:
        """Return what the log of X counts as."""
        said = self.said()
        return "cut" if ORDERS in said.cut else "unknown" if ORDERS in said.unsettled else "whole"


@pytest.mark.parametrize(("ended", "found"), [(9, "cut"), (10, "whole"), (11, "whole"), (0, "cut")])
def test_a_log_is_cut_if_its_last_epoch_ended_below_what_is_indexed_and_that_is_asked_once(
    ended: int, found: str
) -> None:
    leaders = Leaders(ended=ended)
    assert [leaders.look(), leaders.look(), leaders.asked] == [found, found, [{ORDERS: 4}]]
    assert leaders.said().ended == {ORDERS: EpochEnd(5, ended)}, "commits are compared with it"


@pytest.mark.parametrize(
    ("ended", "began", "found", "told"),
    [
        (10, None, "whole", 10),  # a partition that was idle in an epoch looks so too
        (9, None, "cut", None),
        (15, 10, "whole", 10),  # the leader's own records of the epoch before may reach beyond what is indexed
        (15, 8, "cut", 8),
    ],
)
def test_a_leader_that_has_nothing_of_the_epoch_is_held_to_where_that_began_if_it_was_seen(
    ended: int, began: int | None, found: str, told: int | None
) -> None:
    leaders = Leaders(ended=ended, told_epoch=3)
    if began is not None:
        leaders.index.ended[AT_X] = [EpochEnd(4, began, 3)]
    assert (leaders.look(), leaders.said().ended) == (found, {} if told is None else {ORDERS: EpochEnd(5, told)})


@pytest.mark.parametrize("is_refused", [False, True])
def test_without_an_answer_the_log_is_unknown_and_queried_again(
    monkeypatch: pytest.MonkeyPatch, is_refused: bool
) -> None:
    monkeypatch.setattr(checked_metadata, "RETRY_S", 0.2)
    leaders = Leaders(ended=None, is_refused=is_refused)
    leaders.checked = CheckedMetadata(leaders, leaders.index, {"X": leaders}, leaders.returned.set, patience_s=0.05)
    assert leaders.look() == "unknown"
    assert not leaders.returned.is_set()
    leaders.ended, leaders.is_refused = 10, False
    until = time.monotonic() + 30
    while leaders.look() == "unknown":
        assert time.monotonic() < until
    assert (leaders.look(), leaders.returned.is_set(), len(leaders.asked)) == ("whole", True, 2)


def elected_site(cut: ClusterPartition, ended: int | None, told_epoch: int = 1) -> Site:
    """X and Y, of which one has got another leader; its end tells nothing. *ended*: None while that does not say."""
    site = Site(config_of(["X", "Y"]))
    for alias in ("X", "Y"):
        site.put(log(alias, "X0:4"))
        site.index.epochs[ClusterPartition(alias, *ORDERS)] = (site.clusters[alias].topics["orders"].topic_id, 1)
    leaders = Leaders(ended=ended, told_epoch=told_epoch)
    patience_s = 60 if ended is not None else 0.05
    fetcher = CheckedMetadata(site, site.index, {"X": leaders, "Y": leaders}, patience_s=patience_s)
    lists = ReadLists(site.config, site.state, {})
    site.reconciler = Reconciler(site.config, site.state, fetcher, site.writers, site.reconciliations, lists)
    site.clusters[cut.cluster].logs[ORDERS] = MemoryEnds(0, 4, leader_epoch=2)
    return site


@pytest.mark.parametrize(("cut", "told_epoch"), [(AT_X, 1), (AT_Y, 0)])
def test_nothing_is_translated_from_a_cut_log_nor_into_one_that_was_cut_at_an_unknown_offset(
    cut: ClusterPartition, told_epoch: int
) -> None:
    site = elected_site(cut, 2, told_epoch)
    site.commit("X", "readers", 1)
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("LOG_TRUNCATED", "WITHHELD")]
    site.index.epochs[cut] = (site.index.epochs[cut][0], 2)  # the index has looked
    site.reconcile()
    assert site.target_offset("Y", "readers") == 1
