"""Every status and every reason for it, in a scene that reaches it. ``test_status_oracle`` tells which are in sync."""

from __future__ import annotations

import numpy as np
import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, config_of
from fakes.status_site import IN_SYNC, StatusSite, moved, status_site
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ClusterPartition
from offset_sync.translate.index.time_index import TimeIndex

MINUTE_MS = 60_000
MINUTE = {"stalled_after": "60s"}
DROPPED = Reason.NEVER_THERE(1)

# Mirroring


@pytest.mark.parametrize(
    ("here", "there", "committed", "reason"),
    [
        ("X0:10", "X0:7", 4, Reason.NOT_MIRRORED(3)),
        ("X0:10", "X0:9", 10, Reason.READ_NOT_MIRRORED(1)),
        ("X0:3 Z0:2", "X0:3", 5, None),  # the target never had Z's, so they do not come again
        ("X0:4", "X0 X2 X3", 0, DROPPED),
        ("X0 ? X2", "X0 X2", 0, DROPPED),
        ("X0 Y0 X2 Y1 X4", "Y0 Y1 X0 X2 X4", 3, Reason.READ_ABOVE(2)),
        ("X0:4", "X0:4 Y4", 4, "not read"),  # it is in flight to the source
        ("Y0 Y0", "Y0", 1, Reason.NOTHING_TO_COMPARE()),
    ],
)
def test_what_the_mirror_has_left_to_do_is_said(here: str, there: str, committed: int, reason: str | None) -> None:
    assert moved(here, there, committed).said() == (("Mirroring", reason) if reason else IN_SYNC)


def test_another_record_or_another_content_on_each_side() -> None:
    assert moved("X0 Y0 X2", "Y0 X0 X2", 0).said() == ("Mirroring", "another one")
    site = moved("X0:4", "X0:4", 2)
    assert site.said() == IN_SYNC
    site.changed.add(("X", 2))
    assert site.said() == ("Mirroring", "another one")


# Behind


def test_nothing_committed_at_the_target_is_behind_and_stalls() -> None:
    site = status_site("X0:10", "X0:10", status=MINUTE)
    site.commit("X", "g", 4)
    site.pass_time(MINUTE_MS)
    assert site.said() == ("Behind", Reason.NOTHING_COMMITTED())
    row = site.row()
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"], row["lost"]) == (4, None, None, None)
    site.pass_time(1)
    assert site.said() == ("Stalled", Reason.NOTHING_COMMITTED())
    assert site.row()["staleness_ms"] == MINUTE_MS + 1
    site.reconciled()
    site.clusters["Y"].forget("g", ORDERS)
    assert site.said()[1] == Reason.NOTHING_COMMITTED()


def test_staleness_counts_from_the_first_commit_that_the_target_lacks_or_from_its_last_move() -> None:
    site, told = status_site("X0:10", "X0:10"), list[int]()

    def after(ms: int, committed: int | None = None) -> int:
        if committed is not None:
            site.commit("X", "g", committed)
        site.pass_time(ms)
        told.append(site.row()["staleness_ms"])
        return told[-1]

    # The clock goes on by one with each commit.
    assert [after(100, 4), after(1000, 5), after(7000, 6)] == [100, 1101, 8102]
    site.write_as_we_do("Y", "g", 3)
    assert after(50, 7) == 50
    site.write_as_we_do("Y", "g", 7)
    assert after(50) == 0
    site.write_as_we_do("Y", "g", 2)
    assert after(50) > 50, "it counts from the commit"


# Stalled


def test_a_stopped_mirror_stalls_once_its_oldest_record_is_old() -> None:
    site = moved("X0:10", "X0:7", 4, status=MINUTE)
    site.pass_time(-site.row()["mirror_lag_ms"] + MINUTE_MS)
    assert site.said() == ("Mirroring", Reason.NOT_MIRRORED(3))
    site.pass_time(1)
    assert site.said() == ("Stalled", Reason.NOT_MIRRORED(3))
    assert moved("X0:10", "X0:9", 10, status=MINUTE).said() == ("Stalled", Reason.READ_NOT_MIRRORED(1))


def test_a_source_that_does_not_answer_stalls_and_the_tables_still_give_the_numbers() -> None:
    site = moved("X0:10", ". X0:7", 4)
    site.clusters["X"].is_down = True
    site.pass_time(-site.row()["mirror_lag_ms"])
    assert site.said() == ("Stalled", Reason.SOURCE_SILENT())
    row = site.row()
    assert (row["source_end"], row["source_lag"], row["target_end"], row["target_lag"]) == (None, None, 8, 3)
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"], row["lost"]) == (5, 5, 0, 3)
    assert (row["not_mirrored"], row["mirror_lag"], row["state"]) == (3, 3, "EXACT")
    site = moved("X0:10", "X0:10", 10)
    site.clusters["X"].without_leader.add(ORDERS)
    assert site.said() == ("Stalled", Reason.SOURCE_SILENT())


@pytest.mark.parametrize("alias", ["X", "Y"])
def test_a_log_that_cannot_be_read_on_stalls_whatever_else_waits(alias: str) -> None:
    site = moved("X0:10", "X0:10", 4, status=MINUTE)
    site.index_still_ms["Y"] = 10 * MINUTE_MS
    site.unreadable[ClusterPartition(alias, *ORDERS)] = "orders-0 cannot be read from offset 10 on"
    assert site.said() == ("Stalled", "orders-0 cannot be read from offset 10 on")
    site.unreadable = {ClusterPartition("Z", *ORDERS): "no matter"}
    assert site.said() == IN_SYNC


# Withheld, TargetActive


@pytest.mark.parametrize(
    ("reason", "spoil"),
    [
        ("TOPIC_RECREATED", lambda site: site.index.ids["X", "orders"].add("another")),
        ("NOT_INDEXED", lambda site: site.index.logs.pop(("Y", "orders", 0))),
        ("CLUSTER_UNREACHABLE", lambda site: setattr(site.clusters["Y"], "is_down", True)),
    ],
)
def test_withheld_for_each_reason(reason: str, spoil: object) -> None:
    site = moved("X0:10", "X0:10", 4)
    spoil(site)  # type: ignore[operator]
    site.pass_time(10 * MINUTE_MS)
    assert site.said() == ("Withheld", reason)
    row = site.row()
    assert (row["wanted_offset"], row["duplicates"], row["duplicates_at_most"], row["lost"]) == (None,) * 4
    assert (row["target_offset"], row["staleness_ms"], row["state"]) == (4, 0, reason)


def test_without_headers_no_record_that_is_left_behind_is_ruled_out() -> None:
    topics = {"include": ["orders"], "strategy": "timestamp"}
    site = StatusSite(config_of(["X", "Y"], topics=topics, status={"stalled_after": "2h"}))
    for alias in "XY":
        site.put(log(alias, f"{alias}0:4"))
        timed = site.index.logs[alias, "orders", 0].times = TimeIndex()
        timed.extend(np.arange(4), np.ones(4, np.int64), *np.array([[5, 6, 6, 7]] * 2))
    site.commit("X", "g", 4)
    site.reconciled()
    assert site.said() == ("Mirroring", Reason.UNSTAMPED())
    assert site.row()["lost"] is None
