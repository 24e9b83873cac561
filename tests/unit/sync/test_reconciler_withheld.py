"""Settling where a cluster is silent or the logs are not what they were: a reason instead of a wrong answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.reconciler_site import ORDERS, Site, mirrored_site
from offset_sync.model.values import TopicPartition

SECOND = TopicPartition("orders", 1)


def answer(site: Site) -> tuple[str, str, int | None]:
    """State and outcome of the only row, and the offset at Y."""
    (row,) = site.rows()
    return row.state, row.outcome, site.target_offset("Y", row.group_id, row.place)


# Silence


# Logs that are not what they were


def recreate(site: Site, alias: str) -> None:
    site.clusters[alias].topics["orders"] = MemoryTopic("another life")


def recreate_indexed(site: Site, alias: str) -> None:
    site.index.ids[alias, "orders"] = {"first life", "second life"}


def delete(site: Site, alias: str) -> None:
    del site.clusters[alias].topics["orders"]


def truncate(site: Site, alias: str) -> None:
    site.clusters[alias].logs[ORDERS] = MemoryEnds(0, 9)


@pytest.mark.parametrize("alias", ["X", "Y"])
@pytest.mark.parametrize(
    ("change", "state"),
    [
        (recreate, "TOPIC_RECREATED"),
        (recreate_indexed, "TOPIC_RECREATED"),
        (delete, "TOPIC_MISSING"),
        (truncate, "LOG_TRUNCATED"),
    ],
)
def test_it_is_withheld_on_either_side(change: Callable[[Site, str], None], state: str, alias: str) -> None:
    site = mirrored_site()
    change(site, alias)
    site.commit("X", "readers", 4)
    assert site.reconcile() == []
    assert answer(site) == (state, "WITHHELD", None)


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


def test_an_id_that_is_a_share_group_at_a_target_is_withheld_there_alone() -> None:
    site = mirrored_site("Y", "Z")
    site.state.share_groups = {"Y": frozenset({"readers"})}
    site.commit("X", "readers", 4)
    site.reconcile()
    rows = {(row.target, row.state, row.outcome) for number in (0, 1) for row in site.rows(number)}
    assert rows == {("Y", "SHARE_GROUP", "WITHHELD"), ("Z", "EXACT", "COMMITTED")}
