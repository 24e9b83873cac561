"""When a settled key is checked again, and keys left alone because of a commit during our query."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of, mirrored_site
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.translator import Translator


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


def test_a_record_that_comes_later_than_the_grace_is_not_skipped_for_long() -> None:
    site = settled_site()
    assert site.target_offset("Y", "readers") == 5
    site.put(log("X", "Y0 Y1 Y3 Y4 Y2"))
    site.reconcile()
    assert site.target_offset("Y", "readers") == 2


def test_a_target_is_asked_as_long_as_its_log_has_the_answer_in_the_partition_of_a_former_coordinator() -> None:
    site = settled_site()
    site.offsets.clusters["Y"].partitions = 3
    assert coordinator_partition("readers", 3) != 0
    site.clusters["Y"].written.clear()
    site.reconcile()
    assert [(target, each.offset) for target, each in site.asked] == [("Y", 5)]
    assert site.clusters["Y"].written == [], "the coordinator before still answers, as long as no broker has restarted"
    del site.clusters["Y"].group_offsets["readers", ORDERS]
    site.reconcile()
    assert site.target_offset("Y", "readers") == 5


def test_a_settled_key_is_queried_again_if_the_basis_of_its_answer_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = settled_site()
    site.commit("X", "readers", 4, TopicPartition("orders", 1))
    site.reconciled()

    def fails(_self: Translator, _source: str, _target: str, partition: TopicPartition, *_more: object) -> None:
        raise ValueError(f"the log of {partition} makes no sense")

    monkeypatch.setattr(Translator, "outlook", fails)
    settled = len(site.reconciliations)
    site.reconcile()
    assert {row.place for number in range(settled, len(site.reconciliations)) for row in site.rows(number)} >= {ORDERS}


def test_a_log_start_that_passes_an_answer_moves_it_and_what_is_lost_is_told() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    assert site.target_offset("Y", "readers") == 6
    site.put(log("Y", ". . X0:10", log_start=9))
    site.reconcile()
    assert site.target_offset("Y", "readers") == 9
    found = site.reconciliations[-1].translated.answers
    assert (found.wanted.tolist(), found.lost.tolist()) == ([9], [3])


def test_a_recreated_target_is_withheld_though_the_key_was_settled() -> None:
    site = settled_site()
    site.put(log("Y", "Y0:6"), topic_id="another")
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("TOPIC_RECREATED", "WITHHELD")]


def test_only_the_partition_that_changed_is_looked_at() -> None:
    site = Site(config_of(["X", "Y"]))
    second = TopicPartition("orders", 1)
    for each in (ORDERS, second):
        site.put(log("X", "X0:9"), each, partitions=2)
        site.put(log("Y", "X0:9"), each, partitions=2)
        site.commit("X", "readers", 4, each)
    site.reconciled()
    site.put(log("Y", "X0:9", log_start=6), second, partitions=2)
    site.reconcile()
    assert [(row.place, row.wanted) for row in site.rows()] == [(second, 6)]


def test_what_changes_is_not_settled_again_before_it_was_written() -> None:
    site = settled_site()
    site.put(log("X", "Y0 Y1 Y3 Y4 Y2"))
    site.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    for _ in range(3):
        site.reconcile()
    assert site.target_offset("Y", "readers") == 5
    del site.clusters["Y"].refused["readers"]
    site.reconcile()
    assert site.target_offset("Y", "readers") == 2


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


def test_a_reset_at_the_target_while_we_ask_is_not_undone(site: CommitsWhileAsked) -> None:
    site.commit("X", "readers", 8)
    site.commit_while_asked("Y", 3)
    site.reconcile()
    assert (site.asked, site.target_offset("Y", "readers")) == ([], 3)


def test_a_newer_commit_during_our_query_is_left_to_its_own_pass(site: CommitsWhileAsked) -> None:
    site.commit("X", "readers", 8)
    site.commit_while_asked("X", 2)
    site.reconcile()
    assert site.asked == []
    site.reconcile()
    assert site.target_offset("Y", "readers") == 4
