"""Queries to the two clusters of a move: streams of groups, readers, records missing at one, and the backlog."""

from __future__ import annotations

from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex, MemoryTopic
from fakes.live_tables import LiveTables
from fakes.reconciler_site import Site, config_of
from offset_sync.cutover import live_clusters
from offset_sync.cutover.live_clusters import IndexBacklog, LiveClusters
from offset_sync.cutover.plan import Direction
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.tables.catalog import GROUP_EVENTS


def moving(site: Site, **more: Any) -> LiveClusters:
    """Return the clusters of a move from X to Y, as *site* is now."""
    site.read_all()
    live: Any = LiveTables(site)
    vars(live).update(more)
    return LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], site.reconciliations.append)


@pytest.fixture
def site() -> Site:
    return Site(config_of(["X", "Y"]))


def test_a_group_that_is_not_listed_is_unknown_where_it_has_offsets(site: Site) -> None:
    for group in ("listed", "empty", "hidden", "deleted"):
        site.commit("X", group, 5)
    site.clusters["X"].forget("deleted", TopicPartition("orders", 0))
    listed = SimpleNamespace(admins=site.admins, listed_groups=lambda _alias: {"listed": True, "empty": False})
    clusters = moving(site, clusters=listed)
    found = clusters.activities("X", groups := ["listed", "empty", "hidden", "deleted", "elsewhere"])
    assert not isinstance(found, ClusterError)
    assert [found[each].value for each in groups] == ["active", "inactive", "unknown", "inactive", "inactive"]
    assert {each.value for each in clusters.activities("Y", groups[1:]).values()} == {"active", "inactive"}  # type: ignore[union-attr]
    listed.listed_groups = lambda _alias: ClusterError("X", "no answer")
    assert isinstance(clusters.activities("X", groups), ClusterError)


@pytest.mark.parametrize(("left_ms", "reading"), [(None, {"g": 1_000}), (-5_000, {}), (-5_001, {"g": 1_000})])
def test_a_young_commit_is_of_a_reader_unless_a_member_made_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, left_ms: int | None, reading: dict[str, int]
) -> None:
    """A member that closes commits, and then leaves."""
    site.commit("X", "g", 5)
    committed_ms = site.clock_ms[0]
    monkeypatch.setattr(live_clusters, "system_now_ms", lambda: committed_ms + 1_000)
    at_ms = {} if left_ms is None else {2: committed_ms - 9_000, 0: committed_ms + left_ms}
    of_group = {"cluster": "X", "group_id": "g", "kind": "classic"}
    rows = [
        {**of_group, "members": members, "at": datetime.fromtimestamp(at / 1000, timezone.utc)}
        for members, at in at_ms.items()
    ]
    events = pa.Table.from_pylist(rows, GROUP_EVENTS.arrow_schema)
    clusters = moving(site, tables=SimpleNamespace(batches=lambda *_asked: [events]))
    site.state.homes.silence_ms = 300_000
    assert clusters.readers(["g"]) == reading
    site.state.homes.silence_ms = 1_000
    assert clusters.readers(["g"]) == {}


READ, LED, LEADERLESS, GONE = (TopicPartition("orders", number) for number in range(4))


def test_records_below_the_first_ends_and_partitions_whose_end_is_unknown_are_waited_for() -> None:
    index = MemoryIndex()
    for each in (places := [READ, LED, LEADERLESS, GONE, TopicPartition("secret", 0)]):
        index.extend(log("x", "x0:9"), each)
    topics, refused = {"orders": MemoryTopic("id", 3)}, {"secret": ClusterError("x", "may not be described")}
    site: Any = SimpleNamespace(
        answer=ClusterMetadata(topics, {READ: MemoryEnds(0, 9), LED: MemoryEnds(0, 14)}, refused)
    )
    site.fetch = lambda aliases, _partitions: dict.fromkeys(aliases, site.answer)
    backlog = IndexBacklog(site, index)
    expected = {"records of x to index": 5, "partitions of x whose end is unknown": 2}
    assert backlog.unread("x", places) == expected
    site.answer = ClusterMetadata(topics, {READ: MemoryEnds(0, 99), LED: MemoryEnds(0, 99)}, refused)
    assert backlog.unread("x", places) == expected
    backlog.forget_ends()
    assert backlog.unread("x", places)["records of x to index"] == 180
    site.answer = ClusterError("x", "no answer")
    assert backlog.unread("x", places) == {"partitions of x, which does not answer": 5}


def test_streams_of_both_clusters_are_told_with_whether_the_group_has_committed_them_at_the_target(site: Site) -> None:
    for alias, group, topic in [("X", "g", "orders"), ("Y", "g", "pay-eu"), ("X", "g", "pay-us"), ("Y", "g", "pay-us")]:
        site.commit(alias, group, 5, TopicPartition(topic, 0))
    site.commit("Y", "others", 5)
    assert moving(site).committed_streams(["g"]) == {"g": {"orders": False, "pay-eu": True, "pay-us": True}}


def test_unread_records_missing_at_the_target_are_listed(site: Site) -> None:
    site.put(log("X", "X0:2 Y0:2 X4:9"))
    site.put(log("Y", "Y0:2 X0:2 X4:6"))
    site.commit("X", "readers", 5)
    site.commit("X", "others", 8)
    found = moving(site).never_mirrored(["readers", "others"])
    assert found == {"readers": ["orders-0 X [6, 9)"], "others": ["orders-0 X [8, 9)"]}


INTERNAL = (
    "app-by-key-repartition",
    "app-join-subscription-registration-topic",
    "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
)


def test_an_application_has_offsets_of_a_repartition_topic_at_the_source_included_or_not(site: Site) -> None:
    wanted = {f"app-{number}": topic for number, topic in enumerate(INTERNAL)}
    for group, topic in {**wanted, "deleted": INTERNAL[0], "other": "repartition"}.items():
        site.commit("X", group, 5, TopicPartition(topic, 0))
    site.clusters["X"].forget("deleted", TopicPartition(INTERNAL[0], 0))
    site.commit("Y", "there", 5, TopicPartition(INTERNAL[0], 0))
    clusters = moving(site)
    assert clusters.internal_topics([*wanted, "deleted", "other", "there"]) == wanted
    assert clusters.internal_topics(["app-1", "other"]) == {"app-1": INTERNAL[1]}
