"""The reconcile pass: what is asked of a target, what is left alone, and what a settled key costs."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of, mirrored_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

HOURS_MS = 3_600_000


def test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    del site.clusters["Y"].group_offsets["readers", ORDERS]  # without a record that we have read
    site.reconcile()
    assert site.asked == []
    site.reconcile(is_first=True)
    assert site.target_offset("Y", "readers") == 6


def test_what_waits_for_the_index_is_answered_as_soon_as_the_index_grows_and_nothing_else_is_asked() -> None:
    site = mirrored_site()
    pay = TopicPartition("pay-1", 0)
    site.put(log("X", "X0:10"), pay)
    site.put(log("Y", "X0:10"), pay)
    site.commit("X", "at-the-end", 10)
    site.commit("X", "behind", 4)
    site.commit("X", "elsewhere", 10, pay)
    site.reconcile()
    site.reconciler.reconcile_waiting_for_index()
    site.reconciliations.clear()
    site.put(log("X", "X0:14"))
    site.put(log("Y", ". . X0:10 . X10:14"))
    assert site.reconciler.reconcile_waiting_for_index() == []
    assert [
        (row.group_id, row.state, row.wanted) for n in range(len(site.reconciliations)) for row in site.rows(n)
    ] == [("at-the-end", "EXACT", 13)]
    assert site.target_offset("Y", "at-the-end") == 13
    site.reconciliations.clear()
    assert (site.reconciler.reconcile_waiting_for_index(), site.reconciliations) == ([], [])


# Batches
# What is at a target already


# Expiry
def test_our_own_value_is_written_again_before_it_expires_and_then_left_alone() -> None:
    site = mirrored_site(sync={"refresh_interval": "12h"})
    site.commit("X", "readers", 4)
    site.reconciled().pass_time(12 * HOURS_MS - 1000)
    site.reconcile()
    assert site.asked == []
    site.pass_time(2000)
    site.reconcile()
    assert [(write.refresh, write.offset, write.expected_offset) for _, write in site.asked] == [(True, 6, 6)]
    assert site.rows()[0].outcome == "COMMITTED"
    site.reconciled().reconcile()
    assert site.asked == []


# What is not synced
def another_driver(site: Site) -> Site:
    """Return a driver beside *site*, of the same clusters."""
    other = Site(site.config, site.clock_ms, site.index)
    other.clusters = site.clusters
    other.restart()
    return other


def test_a_stale_driver_leaves_alone_what_a_newer_one_has_set_back() -> None:
    stale = mirrored_site()
    stale.commit("X", "g", 8)
    stale.reconciled()
    assert stale.target_offset("Y", "g") == 10
    stale.commit("X", "g", 3)  # a reset, which only the newer driver has seen
    newer = another_driver(stale)
    newer.reconcile()
    assert newer.target_offset("Y", "g") == 5
    stale.reconciler.reconcile_all(is_first=True)
    assert [row.outcome for row in stale.rows()] == ["NOT_FORWARD"]
    assert "another client has committed since" in str(stale.rows()[0].error)
    assert newer.target_offset("Y", "g") == 5
    stale.reconcile()  # when it has read what happened it agrees
    assert newer.target_offset("Y", "g") == 5
    assert [row.outcome for row in stale.rows()] == ["UNCHANGED"]


def settled_site() -> Site:
    """X has all of Y's six records but the third and the last; a group at X has read what is there."""
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "Y0 Y1 Y3 Y4"))
    site.put(log("Y", "Y0:6"))
    site.commit("X", "readers", 4)
    return site.reconciled()


def test_a_settled_key_costs_one_look_at_its_logs_and_nothing_else() -> None:
    site = settled_site()
    questions = site.clusters["Y"].questions
    site.reconcile()
    assert (site.asked, site.reconciliations) == ([], [])
    assert site.clusters["Y"].questions == questions + 1


class CommitsWhileAsked(Site):
    """A client commits at *alias* while the clusters are asked, and the stream brings it at once."""

    def commit_while_asked(self, alias: str, offset: int) -> None:
        self.pending = [(alias, offset)]

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        found = super().fetch(aliases, partitions)
        for alias, offset in self.__dict__.pop("pending", []):
            self.commit(alias, "readers", offset)
            self.read(alias)
        return found


@pytest.fixture
def site() -> CommitsWhileAsked:
    site = CommitsWhileAsked(config_of(["X", "Y"]))
    site.put(log("X", "X0:10"))
    site.put(log("Y", ". . X0:10"))
    return site


def test_a_newer_commit_during_our_query_is_left_to_its_own_pass(site: CommitsWhileAsked) -> None:
    site.commit("X", "readers", 8)
    site.commit_while_asked("X", 2)
    site.reconcile()
    assert site.asked == []
    site.reconcile()
    assert site.target_offset("Y", "readers") == 4
