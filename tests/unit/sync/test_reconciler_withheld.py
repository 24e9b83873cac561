"""Settling where a cluster is silent or the logs are not what they were: a reason instead of a wrong answer."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.reconciler_site import ORDERS, Site, config_of, mirrored_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

SECOND = TopicPartition("orders", 1)


def answer(site: Site) -> tuple[str, str, int | None]:
    """State and outcome of the only row, and the offset at Y."""
    (row,) = site.rows()
    return row.state, row.outcome, site.target_offset("Y", row.group_id, row.place)


# Silence


def test_a_silent_target_is_a_failure_while_the_others_are_served() -> None:
    site = mirrored_site("Y", "Z")
    site.clusters["Y"].is_down = True
    site.commit("X", "readers", 4)
    site.commit("X", "others", 5)
    assert site.reconcile() == [
        "X to Y: 2 offsets not committed, first readers/orders/0: clusters.Y: does not answer",
    ]
    assert site.target_offset("Z", "readers") == 6
    rows = {(row.target, row.state, row.outcome) for number in (0, 1) for row in site.rows(number)}
    assert rows == {("Y", "CLUSTER_UNREACHABLE", "FAILED"), ("Z", "EXACT", "COMMITTED")}


def test_what_a_silent_target_missed_is_made_up_for() -> None:
    site = mirrored_site()
    site.clusters["Y"].is_down = True
    site.commit("X", "readers", 4)
    assert len(site.reconcile()) == 1
    site.clusters["Y"].is_down = False
    assert site.reconcile() == []
    assert site.target_offset("Y", "readers") == 6


def test_a_silent_source_is_trusted_as_the_index_knows_it() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.read_all()
    site.clusters["X"].is_down = True
    assert site.reconciler.reconcile_all(is_first=True) == []
    assert answer(site) == ("EXACT", "COMMITTED", 6)


def test_a_silent_source_whose_topic_was_recreated_stays_withheld() -> None:
    site = mirrored_site()
    site.index.ids["X", "orders"] = {"first life", "second life"}
    site.commit("X", "readers", 4)
    site.reconcile()
    assert answer(site) == ("TOPIC_RECREATED", "WITHHELD", None)
    site.clusters["X"].is_down = True
    site.reconcile()
    assert answer(site) == ("TOPIC_RECREATED", "WITHHELD", None)


def test_a_commit_of_another_incarnation_stays_withheld_when_the_source_is_silent() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4, topic_id="an earlier life")
    site.read_all()
    site.clusters["X"].is_down = True
    site.reconciler.reconcile_all()
    assert answer(site) == ("TOPIC_RECREATED", "WITHHELD", None)


def test_a_partition_that_the_target_has_not_got_is_withheld_when_the_source_is_silent() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4, SECOND)
    site.clusters["X"].is_down = True
    site.reconcile()
    assert answer(site) == ("PARTITIONS_DIFFER", "WITHHELD", None)


def test_a_target_partition_without_a_leader_is_withheld_and_a_source_partition_trusted() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.clusters["Y"].without_leader.add(ORDERS)
    assert site.reconcile() == []
    assert answer(site) == ("CLUSTER_UNREACHABLE", "WITHHELD", None)
    site.clusters["Y"].without_leader.clear()
    site.clusters["X"].without_leader.add(ORDERS)
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 6)


# Logs that are not what they were


def test_a_recreated_topic_since_it_was_indexed_is_withheld_on_either_side() -> None:
    for alias in ("X", "Y"):
        site = mirrored_site()
        site.clusters[alias].topics["orders"] = MemoryTopic("another life")
        site.commit("X", "readers", 4)
        assert site.reconcile() == []
        assert answer(site) == ("TOPIC_RECREATED", "WITHHELD", None)


def test_a_commit_that_names_another_incarnation_is_withheld_alone() -> None:
    site = mirrored_site()
    site.commit("X", "stale", 4, topic_id="an earlier life")
    site.commit("X", "fresh", 4, topic_id="orders at X")
    site.commit("X", "silent", 4)
    site.reconcile()
    assert {row.group_id: row.state for row in site.rows()} == {
        "stale": "TOPIC_RECREATED",
        "fresh": "EXACT",
        "silent": "EXACT",
    }


def test_a_topic_that_is_missing_is_withheld_on_either_side() -> None:
    for alias in ("X", "Y"):
        site = mirrored_site()
        del site.clusters[alias].topics["orders"]
        site.commit("X", "readers", 4)
        site.reconcile()
        assert answer(site) == ("TOPIC_MISSING", "WITHHELD", None)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_partition_that_only_the_source_has_is_withheld_by_itself(is_down: bool) -> None:
    """The source has got a second one: commits and rewinds in the first are followed as before."""
    site = mirrored_site()
    site.put(log("X", "X0:5"), SECOND, topic_id="orders at X", partitions=2)
    for committed, wanted in ((7, 9), (1, 3)):
        site.commit("X", "readers", committed)
        site.commit("X", "readers", 2, SECOND)
        site.read_all()
        site.clusters["X"].is_down = is_down
        site.reconcile()
        found = {row.place: (row.state, row.outcome) for row in site.rows()}
        assert found[SECOND] == ("PARTITIONS_DIFFER", "WITHHELD")
        assert found[ORDERS][1] == "COMMITTED"
        assert site.target_offset("Y", "readers") == wanted
        site.clusters["X"].is_down = False


def test_a_partition_that_only_the_target_has_withholds_no_other() -> None:
    site = mirrored_site()
    site.put(log("Y", "Y0:5"), SECOND, topic_id="orders at Y", partitions=2)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 6)


def test_a_partition_that_the_target_gets_later_is_answered_then() -> None:
    site = mirrored_site()
    site.put(log("X", "X0:5"), SECOND, topic_id="orders at X", partitions=2)
    site.commit("X", "readers", 3, SECOND)
    site.reconcile()
    assert answer(site) == ("PARTITIONS_DIFFER", "WITHHELD", None)
    site.put(log("Y", "X0:5"), SECOND, topic_id="orders at Y", partitions=2)
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 3)


def test_a_target_log_without_an_index_is_withheld_until_it_has_one() -> None:
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "X0:10"))
    site.clusters["Y"].topics["orders"] = MemoryTopic("orders at Y")
    site.clusters["Y"].logs[ORDERS] = MemoryEnds(0, 12)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert answer(site) == ("NOT_INDEXED", "WITHHELD", None)
    site.put(log("Y", ". . X0:10"))
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 6)


@pytest.mark.parametrize("alias", ["X", "Y"])
def test_a_log_that_ends_below_its_index_was_truncated(alias: str) -> None:
    site = mirrored_site()
    site.clusters[alias].logs[ORDERS] = MemoryEnds(0, 9)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert answer(site) == ("LOG_TRUNCATED", "WITHHELD", None)


def test_a_log_that_grows_while_it_is_looked_at_is_not_taken_for_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    look = site.fetch

    def slow_look(
        aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        said = look(aliases, partitions)
        for alias, text in (("X", "X0:20"), ("Y", ". . X0:20")):
            site.index.extend(log(alias, text), ORDERS)  # another thread has indexed what came meanwhile
        return said

    monkeypatch.setattr(site, "fetch", slow_look)
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 6)


def test_a_commit_beyond_the_end_of_its_log_is_withheld_alone() -> None:
    site = mirrored_site()
    site.commit("X", "beyond", 11)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert {row.group_id: row.state for row in site.rows()} == {"beyond": "COMMIT_BEYOND_END", "readers": "EXACT"}


def test_the_offset_at_the_target_stays_while_withheld_and_the_answer_comes_when_the_reason_has_gone() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    site.clusters["Y"].topics["orders"] = MemoryTopic("another life")
    site.commit("X", "readers", 7)
    for _ in range(4):
        site.reconcile()
    assert answer(site) == ("TOPIC_RECREATED", "WITHHELD", 6)
    site.clusters["Y"].topics["orders"] = MemoryTopic("orders at Y")
    site.reconcile()
    assert answer(site) == ("EXACT", "COMMITTED", 9)


def test_retention_past_an_unread_record_is_answered_with_the_log_start_and_the_loss() -> None:
    site = mirrored_site()
    site.clusters["Y"].logs[ORDERS] = MemoryEnds(8, 12)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert (answer(site)[2], site.reconciliations[-1].translated.answers.lost.tolist()) == (8, [2])
    site.commit("X", "readers", 5)
    site.reconcile()
    assert (answer(site)[2], site.reconciliations[-1].translated.answers.lost.tolist()) == (8, [1])


def test_an_id_that_is_a_share_group_at_a_target_is_withheld_there_alone() -> None:
    site = mirrored_site("Y", "Z")
    site.state.share_groups = {"Y": frozenset({"readers"})}
    site.commit("X", "readers", 4)
    site.reconcile()
    rows = {(row.target, row.state, row.outcome) for number in (0, 1) for row in site.rows(number)}
    assert rows == {("Y", "SHARE_GROUP", "WITHHELD"), ("Z", "EXACT", "COMMITTED")}
