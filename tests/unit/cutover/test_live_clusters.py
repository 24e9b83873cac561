"""What is found at the two clusters of a move: members, readers, verdicts, what is not read, and what is missing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from builders.logs import log
from fakes.clusters import MemoryEnds
from fakes.live_tables import LiveTables
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.cutover import live_clusters
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import Activity, Direction
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, GroupPartition, TopicPartition
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.tables.catalog import GROUP_EVENTS, SYNC_STATUS


def moving(site: Site, **more: Any) -> LiveClusters:
    """Return the clusters of a move from X to Y, as *site* is now."""
    site.read_all()
    live: Any = LiveTables(site)
    live.clusters.listed = more.pop("listed", {})
    vars(live).update(more)
    return LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"])


@pytest.fixture
def site() -> Site:
    return Site(config_of(["X", "Y"]))


def test_a_group_that_is_not_listed_is_unknown_where_it_has_offsets(site: Site) -> None:
    for group in ("listed", "empty", "hidden", "deleted"):
        site.commit("X", group, 5)
    site.clusters["X"].forget("deleted", TopicPartition("orders", 0))
    clusters = moving(site, listed={"listed": True, "empty": False})
    groups = ["listed", "empty", "hidden", "deleted", "elsewhere"]
    found = clusters.activities("X", clusters.held_at("X", groups))
    assert [found[each] for each in groups] == [
        *(Activity.ACTIVE, Activity.INACTIVE, Activity.UNKNOWN, Activity.INACTIVE, Activity.INACTIVE)
    ]
    site.clusters["X"].is_down = True
    found = clusters.activities("X", clusters.held_at("X", groups))
    assert [isinstance(found[each], ClusterError) for each in groups] == [True, True, False, False, False]
    assert {found[each] for each in groups[2:]} == {Activity.UNKNOWN}, "they may have offsets there"
    clusters = moving(site, listed=ClusterError("X", "no answer"))
    assert isinstance(clusters.activities("X", {"empty": {}})["empty"], ClusterError)


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
    rows = [{**of_group, "members": members, "at": to_datetime(at)} for members, at in at_ms.items()]
    events = pa.Table.from_pylist(rows, GROUP_EVENTS.arrow_schema)
    clusters = moving(site, tables=SimpleNamespace(batches=lambda *_asked: [events]))
    site.state.homes.silence_ms = 300_000
    assert clusters.readers(["g"]) == reading
    site.state.homes.silence_ms = 1_000
    assert clusters.readers(["g"]) == {}


def test_positions_that_the_tables_do_not_have_are_waited_for(site: Site) -> None:
    for alias in "XY":
        site.put(log(alias, "X0:9"))
    site.commit("X", "g", 5)
    clusters = moving(site)

    def unread() -> int:
        return clusters.unread(["g"], {})["positions of groups to read"]

    assert unread() == 0, "the target holds nothing"
    site.commit("Y", "g", 4)
    assert unread() == 1, "another has committed there"
    clusters._wanted[GroupPartition("g", *ORDERS)] = 4
    assert unread() == 0, "it is the answer"
    site.commit("X", "g", 6)
    assert unread() == 1
    site.read_all()
    assert unread() == 0
    site.clusters["Y"].is_down = True
    assert unread() == 1, "it may hold anything"


def test_a_commit_at_the_source_that_may_make_it_the_home_is_waited_for(site: Site) -> None:
    """By the tables the group reads one topic at X and another at Y, where it has come from."""
    other = TopicPartition("pay-eu", 0)
    for place in (ORDERS, other):
        for alias in "XY":
            site.put(log(alias, "X0:9"), place)
    site.commit("X", "g", 3, other)
    site.commit("Y", "g", 4, other)
    site.commit("X", "g", 5)
    clusters = moving(site)

    def unread() -> int:
        return clusters.unread(["g"], {})["positions of groups to read"]

    assert unread() == 0
    site.commit("X", "g", 6, other)
    assert unread() == 1
    site.read_all()
    assert unread() == 0


def test_records_below_the_ends_of_both_logs_are_waited_for(site: Site) -> None:
    site.commit("X", "g", 5)
    for alias, behind in (("X", 5), ("Y", 0)):
        site.put(log(alias, "X0:9"))
        site.clusters[alias].logs[ORDERS] = MemoryEnds(0, 9 + behind)
    clusters, ends = moving(site), dict[ClusterPartition, int]()

    def unread() -> int:
        return clusters.unread(["g"], ends)["records to index"]

    assert unread() == 5
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 99)
    assert unread() == 5, "up to the ends at first"
    site.clusters["Y"].is_down = True
    assert unread() == 6, "its end is not known"


def status(group_id: str, **changed: Any) -> dict[str, Any]:
    told = {"source_cluster": "X", "target_cluster": "Y", "group_id": group_id, "stream": "orders", "partition": 0}
    known = {"status": "InSync", "state": "EXACT", "source_offset": 5, "wanted_offset": 7, "not_mirrored": 0}
    return dict.fromkeys(SYNC_STATUS.names) | told | known | changed


CONTESTED = {"status": "Withheld", "state": "COMMITTED_AT_BOTH", "reason": "committed at both"}


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_plan_shows_what_a_living_driver_says_and_decides_where_naming_the_source_does(
    site: Site, is_alive: bool
) -> None:
    live: Any = LiveTables(site)
    live.said = [status("said"), status("both", **CONTESTED)] if is_alive else None
    live.decided = [status("both", wanted_offset=8), status("moved", wanted_offset=8)]
    groups = ["said", "both", "moved"]
    asking, moving = (
        LiveClusters(site.config, live, Direction("X", "Y"), site.writers["Y"], decides=it) for it in (False, True)
    )
    found = asking.partition_statuses(groups)
    assert live.asked == [["both", "moved"] if is_alive else sorted(groups)]
    assert {group: each[0].wanted_offset for group, each in found.items()} == (
        {"said": 7, "both": 8, "moved": 8} if is_alive else {"both": 8, "moved": 8}
    )
    moving.partition_statuses(groups)
    assert live.asked[1:] == [sorted(groups)], "a move takes nobody's word"


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
    assert clusters.internal_topics(clusters.held_at("X", [*wanted, "deleted", "other", "there"])) == wanted
