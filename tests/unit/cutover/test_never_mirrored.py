"""What a disaster has taken with it is told from both logs, and nobody waits while they are compared."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from builders.logs import log
from fakes.live_tables import LiveTables
from fakes.reconciler_site import Site, config_of
from offset_sync.cutover import live_clusters
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import Direction


def test_unread_records_that_the_target_lacks_are_told_without_holding_the_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "X0:2 Y0:2 X4:9"))
    site.put(log("Y", "Y0:2 X0:2 X4:6"))
    site.commit("X", "readers", 5)
    site.commit("X", "others", 8)
    site.read_all()
    was_free: list[bool] = []
    gaps = live_clusters.replication_gaps

    def watch(*given: Any) -> Any:
        def take() -> None:
            was_free.append(site.state.lock.acquire(timeout=5))
            if was_free[-1]:
                site.state.lock.release()

        other = threading.Thread(target=take)
        other.start()
        other.join()
        return gaps(*given)

    monkeypatch.setattr(live_clusters, "replication_gaps", watch)
    live: Any = LiveTables(site)
    clusters = LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations)
    found = clusters.never_mirrored(["readers", "others"])
    assert {group: [each.split()[:2] for each in told] for group, told in found.items()} == {
        "readers": [["orders-0", "X"]],
        "others": [["orders-0", "X"]],
    }
    assert "6" in found["readers"][0]
    assert "8" in found["others"][0]
    assert was_free == [True, True]
