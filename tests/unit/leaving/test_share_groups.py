"""A group whose id is that of a share group at the target."""

from __future__ import annotations

from builders.logs import log
from fakes.reconciler_site import config_of
from fakes.status_site import StatusSite


def test_it_is_withheld_in_a_report_and_its_members_do_not_count() -> None:
    site = StatusSite(config_of(["X", "Y"], sync={"home_silence": "5m"}))
    for alias in "XY":
        site.put(log(alias, "X0:10"))
    site.commit("X", "g", 8)
    site.commit("X", "other", 8)
    site.shared, site.active = {"Y": {"g"}}, {"Y": {"g"}}
    found = {row["group_id"]: (row["source_cluster"], row["state"], row["reason"]) for row in site.report()}
    assert found["g"] == ("X", "SHARE_GROUP", "SHARE_GROUP")
    assert found["other"][1] == "EXACT"
