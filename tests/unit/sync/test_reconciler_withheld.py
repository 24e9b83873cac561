"""A reason instead of a wrong answer: silent clusters, and logs that are not what they were."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.translate.index.incarnations import Incarnation

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


LIFE = "the id of the life that is there now"


def site_with(begins_at: int, *, is_recreated: bool) -> Site:
    """Return X's ten records, of which those from *begins_at* on are others since now, and a group at 4."""
    site = mirrored_site()
    topic_id = LIFE if is_recreated else site.clusters["X"].topics["orders"].topic_id
    site.clusters["X"].topics["orders"] = type(site.clusters["X"].topics["orders"])(topic_id)
    lives = [Incarnation(begins_at, site.clock_ms[0] + 1, topic_id, is_recreated)]
    site.index.lives[ClusterPartition("X", *ORDERS)] = lives
    return site


def answer_of(site: Site) -> tuple[str, int | None]:
    site.reconcile()
    (row,) = site.rows()
    return row.state, site.target_offset("Y", "readers")


def test_a_commit_that_names_the_new_topic_is_made_to_it() -> None:
    site = site_with(0, is_recreated=True)
    site.commit("X", "readers", 4, topic_id=LIFE)
    assert answer_of(site) == ("EXACT", 6)


def test_a_commit_that_names_the_topic_of_a_log_that_was_cut_may_still_be_older_than_the_cut() -> None:
    site = site_with(2, is_recreated=False)
    site.commit("X", "readers", 4, topic_id=site.clusters["X"].topics["orders"].topic_id)
    assert answer_of(site) == ("LOG_TRUNCATED", None)
