"""Reports on a group that was moved by its read list, until it is past that list."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.read_list_site import EPOCH, HOLDS, told
from fakes.reconciler_site import ORDERS, config_of
from fakes.second_writer import Command
from fakes.status_site import StatusSite
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition

SKIPS = ("Mirroring", "its consumers still skip up to 8 at Y")
AHEAD = "the target is ahead: {} unread below its offset, committed by another client"


@pytest.fixture
def site() -> StatusSite:
    """Moved from 6 at X to 4 at Y, with X3 and X5 on the list."""
    lists = {"read_lists": {"groups": ["readers"]}, "refresh_interval": "1h"}
    found = StatusSite(config_of(["X", "Y"], sync=lists, status={"stalled_after": "2h"}))
    found.put(log("X", "X0 X1 Y0 X3 Y3 X5 X6 Y4 Y6"))
    found.put(log("Y", "Y0 X0 X1 Y3 Y4 X3 Y6 X5 X6"))
    for alias in "XY":
        found.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
    found.commit("X", "readers", 6)
    found.reconcile()
    assert (found.target_offset("Y", "readers"), told(found)) == (4, (4, [(5, 6), (7, 8)]))
    Command(found, "X", "Y").move()
    found.reconcile()
    return found


@pytest.mark.parametrize(("committed", "repeated"), [(4, 0), (5, 1), (6, 1), (7, 2)])
def test_what_is_on_the_list_at_its_home_is_not_unread(site: StatusSite, committed: int, repeated: int) -> None:
    if committed > 4:
        site.commit("Y", "readers", committed)
        site.reconcile()
    assert (site.said("Y", "X", "readers"), site.target_offset("X", "readers")) == (SKIPS, 6)
    row = site.row("Y", "X", "readers")
    assert (row["lost"], row["duplicates"]) == (0, repeated)


def test_where_the_list_is_not_known_its_records_count_as_unread_and_nothing_is_in_sync(site: StatusSite) -> None:
    site.refusing[HOLDS] = ClusterError("Y", "does not answer")
    assert site.said("Y", "X", "readers") == ("Behind", AHEAD.format("2 records"))
    site.commit("Y", "readers", 9)
    site.reconciled()
    assert site.said("Y", "X", "readers") == ("Mirroring", "Y did not answer for its read list")
