"""Groups that two clusters commit: withheld, with both sides named; and partitions that a group has never committed."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import StatusSite
from offset_sync.model.errors import ClusterError
from offset_sync.status.group_homes import take_in_untold


def twins(at_x: int, at_y: int, **sections: object) -> StatusSite:
    """A group that commits at Y first, and at X after it."""
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}, **sections))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    site.commit("Y", "g", at_y)
    site.pass_time(2_999)
    site.commit("X", "g", at_x)
    return site


def test_a_report_withholds_it_and_costs_are_not_known() -> None:
    site = twins(8, 3)
    (row,) = site.report()
    assert (row["source_cluster"], row["status"], row["state"]) == ("X", "Withheld", "COMMITTED_AT_BOTH")
    assert row["reason"].startswith("committed at both X (8, 0 s ago) and Y (3, 3 s ago) within sync.home_silence")
    assert (row["wanted_offset"], row["duplicates"], row["lost"]) == (None, None, None)


@pytest.mark.parametrize(("held", "home"), [({"X": 5}, "X"), ({"Y": 3}, "Y"), ({"X": 5, "Y": 3}, None)])
def test_what_coordinators_hold_and_no_table_has_is_at_home_there_and_at_two_of_them_of_any_age(
    held: dict[str, int], home: str | None
) -> None:
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    silent = {"other": ClusterError("X", "no answer")}
    take_in_untold(site.state, {alias: {"g": {ORDERS: offset}, **silent} for alias, offset in held.items()})
    rows = site.state.all_rows()
    homes = site.state.homes_of(rows)
    assert [key.group_id for key in site.state.offsets.keys] == ["g"]
    assert homes.is_contested.tolist() == [home is None]
    assert home is None or site.state.rows_of(home, rows).tolist() == rows.tolist()
    for alias, offset in held.items():
        assert site.state.offsets.clusters[alias].position(rows)[0].tolist() == [offset]
