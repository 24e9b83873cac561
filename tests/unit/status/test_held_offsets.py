"""What coordinators hold at the moment of a report, where the tables know something else or nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from unittest.mock import MagicMock

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.logs import log
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import IN_SYNC, StatusSite, moved
from generators.hypothesis_strategies import law
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.status.held_offsets import ask_coordinators

UNSTABLE = ClusterError("X", "group 'g': UNSTABLE_OFFSET_COMMIT for orders-0")
OF_TABLES = Reason.OF_TABLES(UNSTABLE)


def rows(site: StatusSite) -> list[dict[str, object]]:
    """Report without reading a commit."""
    return site.reported(site.clock_ms[0])


def said(site: StatusSite, target: str = "Y") -> tuple[object, object]:
    (row,) = (row for row in rows(site) if row["target_cluster"] == target)
    return row["status"], row["reason"]


def synced(committed: int) -> StatusSite:
    """A site whose sync has written at Y, and has not read that back."""
    site = StatusSite(config_of(["X", "Y"], status={"stalled_after": "2h"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", committed)
    site.read("X")
    site.clusters["Y"].commit("g", ORDERS, committed)
    return site


def test_a_commit_that_is_not_captured_is_behind_and_its_cost_is_not_known() -> None:
    site = moved("X0:10", "X0:10", 4)
    site.commit("X", "g", 8)
    (row,) = rows(site)
    assert (row["status"], row["reason"]) == ("Behind", Reason.NOT_CAPTURED("X", 8, 4))
    assert [row[name] for name in ("duplicates", "duplicates_at_most", "lost")] == [None, None, None]
    assert row["source_offset"] == 4
    del site.clusters["X"].group_offsets["g", ORDERS]
    gone = Reason.NOT_CAPTURED("X", "no offset", 4)
    assert said(site) == ("Behind", gone)


def test_a_group_whose_coordinator_does_not_tell_rests_on_the_tables_and_says_so() -> None:
    site = moved("X0:10", "X0:10", 4)
    site.commit("X", "h", 4)
    site.reconciled()
    site.refusing = {"g": UNSTABLE}
    found = {row["group_id"]: (row["status"], row["reason"]) for row in rows(site)}
    assert found == {"h": IN_SYNC, "g": ("Mirroring", OF_TABLES)}
    site.commit("X", "g", 6)
    site.read_all()
    assert rows(site)[0]["reason"] == f"{Reason.TARGET_BEHIND(2)} ({OF_TABLES})"


@pytest.mark.parametrize(("at_third", "status"), [(4, "InSync"), (7, "Mirroring")])
def test_a_commit_at_a_third_cluster_that_no_verdict_knows_is_no_false_in_sync(at_third: int, status: str) -> None:
    site = StatusSite(config_of(["X", "Y", "Z"], status={"stalled_after": "2h"}))
    for alias in "XYZ":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", 4)
    site.reconciled()
    site.clusters["Z"].commit("g", ORDERS, at_third)
    assert said(site) == (status, None if status == "InSync" else Reason.COMMITS_UNREAD())


def test_a_commit_at_a_third_cluster_of_which_no_verdict_is_left_is_no_false_in_sync() -> None:
    """The home has moved to Z: of X to Z that is published already, of X to Y not yet."""
    site = StatusSite(config_of(["X", "Y", "Z"], status={"stalled_after": "2h"}))
    for alias in "XYZ":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", 4)
    site.reconciled()
    verdicts = site.decided(site.clock_ms[0])
    verdicts = verdicts.filter(pc.equal(verdicts["target_cluster"], "Y"))
    site.clusters["Z"].commit("g", ORDERS, 7)
    (row,) = site.report_on(verdicts, site.ask(), site.clock_ms[0])
    assert (row["status"], row["reason"]) == ("Mirroring", Reason.COMMITS_UNREAD())


def test_every_target_of_a_group_is_asked_before_any_of_its_homes() -> None:
    clusters = MagicMock()
    ask_coordinators(clusters, "XYZ", {"X": {"a", "b"}, "Y": {"b"}})
    asked = clusters.committed_offsets.call_args_list
    assert [alias for (alias, groups), _ in asked if "b" in groups] == [*"XYZXY"]


@law(150)
@given(st.integers(0, 2**32))
def test_in_sync_is_never_said_of_a_group_that_has_committed_elsewhere_meanwhile(seed: int) -> None:
    """Commits, captures and writes happen between any two questions; what is in sync at the end was so all the time."""
    rng = random.Random(seed)
    site = synced(rng.randint(0, 10))

    def happen(_alias: str) -> None:
        for step in rng.sample(steps(site, rng), rng.randint(0, 2)):
            step()

    site.meanwhile_asking = happen
    for row in rows(site):
        if row["status"] == "InSync":
            assert site.clusters["X"].group_offsets["g", ORDERS].offset == row["source_offset"] == row["target_offset"]


def steps(site: StatusSite, rng: random.Random) -> list[Callable[[], object]]:
    offset = rng.randint(0, 10)
    return [
        lambda: site.commit("X", "g", offset),
        lambda: site.read("X"),
        lambda: site.clusters["Y"].commit("g", ORDERS, site.clusters["X"].group_offsets["g", ORDERS].offset),
    ]
