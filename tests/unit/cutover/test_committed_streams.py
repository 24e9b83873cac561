"""Of which streams a group has committed anything, at either cluster of a move: it needs them all at the target."""

from __future__ import annotations

from typing import Any

from fakes.live_tables import LiveTables
from fakes.reconciler_site import Site, config_of
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import Direction
from offset_sync.model.values import TopicPartition


def test_streams_of_both_clusters_are_told_with_whether_the_group_has_committed_them_at_the_target() -> None:
    site = Site(config_of(["X", "Y"]))
    for alias, group, topic in [("X", "g", "orders"), ("Y", "g", "pay-eu"), ("X", "g", "pay-us"), ("Y", "g", "pay-us")]:
        site.commit(alias, group, 5, TopicPartition(topic, 0))
    site.commit("Y", "others", 5)
    site.read_all()
    live: Any = LiveTables(site)
    clusters = LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations)
    assert clusters.committed_streams(["g"]) == {"g": {"orders": False, "pay-eu": True, "pay-us": True}}
