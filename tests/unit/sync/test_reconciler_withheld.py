"""A reason instead of a wrong answer: silent clusters, and logs that are not what they were."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, mirrored_site
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.translate.partition_log import Incarnation

SECOND = TopicPartition("orders", 1)


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


def test_a_commit_beyond_the_end_of_its_log_is_withheld_alone() -> None:
    site = mirrored_site()
    site.commit("X", "beyond", 11)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert {row.group_id: row.state for row in site.rows()} == {"beyond": "COMMIT_BEYOND_END", "readers": "EXACT"}


def test_a_commit_that_names_the_topic_of_a_log_that_was_cut_may_still_be_older_than_the_cut() -> None:
    """Of X's ten records those from 2 on are others since now."""
    site = mirrored_site()
    topic_id = site.clusters["X"].topics["orders"].topic_id
    lives = [Incarnation(2, site.clock_ms[0] + 1, topic_id, is_recreated=False)]
    site.index.lives[ClusterPartition("X", *ORDERS)] = lives
    site.commit("X", "readers", 4, topic_id=topic_id)
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("LOG_TRUNCATED", "WITHHELD")]
    assert site.target_offset("Y", "readers") is None


@pytest.mark.parametrize(("alias", "is_silent"), [("X", False), ("Y", False), ("X", True)])
def test_while_the_index_is_not_cut_nothing_is_translated_from_or_to_that_log(alias: str, is_silent: bool) -> None:
    """It may have other records than the index, also if its cluster was lost since: a commit of any time waits."""
    site = mirrored_site()
    site.clusters["X"].is_down = is_silent
    site.index.uncut = {ClusterPartition(alias, *ORDERS)}
    site.commit("X", "readers", 4)
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("NOT_INDEXED", "WITHHELD")]
    site.index.uncut = set()
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()][-1] == ("EXACT", "COMMITTED")
