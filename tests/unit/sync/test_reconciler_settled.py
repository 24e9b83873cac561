"""When a settled key is checked again, when an answer is computed again, and what a commit during our query does."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from builders.logs import log
from fakes.reconciler_site import Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata


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


# Answers that cannot have changed
