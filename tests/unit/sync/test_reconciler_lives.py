"""Commits to a log that has begun another life since: what they say of its records holds no more."""

from __future__ import annotations

from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import CLOCKS_APART_MS, ClusterPartition
from offset_sync.translate.index.incarnations import Incarnation

LIFE = "the id of the life that is there now"


def site_with(begins_at: int, *, is_recreated: bool, noticed_ms: int | None = None) -> Site:
    """Return X's ten records, of which those from *begins_at* on are others since now, and a group at 4."""
    site = mirrored_site()
    topic_id = LIFE if is_recreated else site.clusters["X"].topics["orders"].topic_id
    site.clusters["X"].topics["orders"] = type(site.clusters["X"].topics["orders"])(topic_id)
    noticed_ms = site.clock_ms[0] + 1 if noticed_ms is None else noticed_ms
    site.index.lives[ClusterPartition("X", *ORDERS)] = [Incarnation(begins_at, noticed_ms, topic_id, is_recreated)]
    return site


def answer(site: Site) -> tuple[str, int | None]:
    site.reconcile()
    (row,) = site.rows()
    return row.state, site.target_offset("Y", "readers")


def test_a_commit_made_since_holds_once_no_clock_can_be_wrong() -> None:
    site = site_with(2, is_recreated=False)
    site.commit("X", "readers", 3)
    assert answer(site) == ("LOG_TRUNCATED", None)
    site.pass_time(CLOCKS_APART_MS)
    assert answer(site) == ("LOG_TRUNCATED", None), "time alone says nothing"
    site.commit("X", "readers", 4)
    assert answer(site) == ("EXACT", 6)


def test_a_commit_that_names_the_new_topic_is_made_to_it() -> None:
    site = site_with(0, is_recreated=True)
    site.commit("X", "readers", 4, topic_id=LIFE)
    assert answer(site) == ("EXACT", 6)


def test_a_commit_that_names_the_topic_of_a_log_that_was_cut_may_still_be_older_than_the_cut() -> None:
    site = site_with(2, is_recreated=False)
    site.commit("X", "readers", 4, topic_id=site.clusters["X"].topics["orders"].topic_id)
    assert answer(site) == ("LOG_TRUNCATED", None)
