"""Behind, Stalled, Withheld and TargetActive, and every reason for them, in a scene that reaches it."""

from __future__ import annotations

import pytest

from builders.logs import log
from fakes.clusters import GroupOffset
from fakes.reconciler_site import ORDERS
from fakes.status_site import IN_SYNC, at_target, moved, status_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.held_commits import HeldCommits
from offset_sync.model.values import ClusterPartition, GroupPartition, Status
from offset_sync.status.job_progress import StreamLag

MINUTE_MS = 60_000
MINUTE = {"stalled_after": "60s"}


# Behind


def test_nothing_committed_at_the_target() -> None:
    site = status_site("X0:10", "X0:10")
    site.commit("X", "g", 4)
    assert site.said() == ("Behind", "nothing committed at the target")
    row = site.row()
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"], row["lost"]) == (4, None, None, None)
    site.reconciled()
    site.clusters["Y"].forget("g", ORDERS)
    assert site.said() == ("Behind", "nothing committed at the target")


def test_the_target_is_behind() -> None:
    site = at_target(moved("X0:10", ". X0:10", 6), 4)
    assert site.said() == ("Behind", "the target is 3 records behind")
    assert (site.row()["duplicates"], site.row()["lost"]) == (3, 0)
    assert at_target(moved("X0:10", ". X0:10", 6), 6).said() == ("Behind", "the target is 1 record behind")


def test_the_target_is_ahead_by_another_clients_commit() -> None:
    site = status_site("X0:10", ". X0:10")
    site.commit("Y", "g", 9)
    site.commit("X", "g", 6)
    site.reconciled()
    reason = "the target is ahead: 2 records unread below its offset, committed by another client"
    assert site.said() == ("Behind", reason)
    row = site.row()
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"], row["lost"]) == (7, 9, 0, 2)


def test_the_target_is_ahead_of_all_that_is_indexed() -> None:
    site = status_site("X0:10", "X0:10")
    site.clusters["Y"].logs[ORDERS] = type(site.clusters["Y"].logs[ORDERS])(0, 20)
    site.commit("Y", "g", 15)
    site.commit("X", "g", 10)
    site.reconciled()
    reason = "the target is ahead: 5 records unread below its offset, committed by another client"
    assert site.said() == ("Behind", reason)


@pytest.mark.parametrize(("log_start", "offset"), [(0, 99), (0, 11), (4, 3)])
def test_an_offset_that_the_targets_log_does_not_reach(log_start: int, offset: int) -> None:
    site = status_site("X0:10", "X0:10")
    site.put(log("Y", "X0:10", log_start=log_start))
    site.commit("X", "g", 10)
    site.read_all()
    site = at_target(site, offset)
    reason = f"offset {offset} is outside the target's log: committed by another client, or its records have expired"
    assert site.said() == ("Behind", reason)
    # The consumer's own options decide where it would go on.
    assert (site.row()["duplicates"], site.row()["lost"]) == (None, None)


# Stalled


def test_a_target_that_stays_behind_stalls() -> None:
    site = status_site("X0:10", "X0:10", status=MINUTE)
    site.commit("X", "g", 4)
    site.pass_time(MINUTE_MS)
    assert site.said() == ("Behind", "nothing committed at the target")
    site.pass_time(1)
    assert site.said() == ("Stalled", "nothing committed at the target")
    assert site.row()["staleness_ms"] == MINUTE_MS + 1


def test_a_group_that_goes_on_committing_does_not_hide_that_its_target_does_not_advance() -> None:
    site = moved("X0:10", "X0:10", 1, status=MINUTE)
    said = []
    for committed in range(2, 9):
        said.append(site.said()[0])
        site.pass_time(15_000)
        site.commit("X", "g", committed)
    assert said == ["InSync", "Behind", "Behind", "Behind", "Behind", "Stalled", "Stalled"]
    assert site.said() == ("Stalled", "the target is 7 records behind")
    site.reconciled()
    assert site.said() == IN_SYNC


def test_a_stopped_mirror_stalls_once_its_oldest_record_is_old() -> None:
    site = moved("X0:10", "X0:7", 4, status=MINUTE)
    site.pass_time(-site.row()["mirror_lag_ms"] + MINUTE_MS)
    assert site.said() == ("Mirroring", "3 records not mirrored yet")
    site.pass_time(1)
    assert site.said() == ("Stalled", "3 records not mirrored yet")
    assert moved("X0:10", "X0:9", 10, status=MINUTE).said() == ("Stalled", "1 record already read, not mirrored yet")


def test_a_source_that_does_not_answer_stalls_and_the_tables_still_give_the_numbers() -> None:
    site = moved("X0:10", ". X0:7", 4)
    site.clusters["X"].is_down = True
    site.pass_time(-site.row()["mirror_lag_ms"])
    assert site.said() == ("Stalled", "the source does not answer")
    row = site.row()
    assert (row["source_end"], row["source_lag"], row["target_end"], row["target_lag"]) == (None, None, 8, 3)
    assert (row["wanted_offset"], row["target_offset"], row["duplicates"], row["lost"]) == (5, 5, 0, 3)
    assert (row["not_mirrored"], row["mirror_lag"], row["state"]) == (3, 3, "EXACT")


def test_a_source_partition_without_a_leader_is_silent_too() -> None:
    site = moved("X0:10", "X0:10", 10)
    site.clusters["X"].without_leader.add(ORDERS)
    assert site.said() == ("Stalled", "the source does not answer")


def test_a_stopped_sync_with_commits_to_read_stalls() -> None:
    site = moved("X0:10", "X0:10", 4, status=MINUTE)
    for silent_ms, word in ((MINUTE_MS, "InSync"), (MINUTE_MS + 1, "Stalled")):
        site.lags["Y"] = StreamLag({0: 0, 1: 0}, silent_ms, 2)
        assert site.said()[0] == word
    assert site.said() == ("Stalled", "sync_offsets has made no progress for 60 s")


def test_an_open_transaction_names_itself_to_the_groups_that_it_holds_back() -> None:
    site = moved("X0:10", "X0:10", 4, status=MINUTE)
    for keys, word in (({GroupPartition("g", *ORDERS)}, "Mirroring"), ({GroupPartition("h", *ORDERS)}, "InSync")):
        held = {number: HeldCommits(number, 5, 6, frozenset(keys)) for number in (0, 1)}
        site.lags["Y"] = StreamLag({0: 0, 1: 0}, 0, 2, held)
        assert site.said()[0] == word
    held = {number: HeldCommits(number, 5, 6, None) for number in (0, 1)}
    site.lags["Y"] = StreamLag({0: 0, 1: 0}, 0, 2, held)
    assert "holds commits back from offset 5 of __consumer_offsets-" in str(site.said()[1])
    site.clusters["Y"].group_offsets["g", ORDERS] = GroupOffset(3, "")  # behind, for it cannot be written there
    word, reason = site.said()
    assert word == "Behind"
    assert "open transaction" in str(reason)


@pytest.mark.parametrize("alias", ["X", "Y"])
def test_a_log_that_cannot_be_read_on_stalls_whatever_else_waits(alias: str) -> None:
    site = moved("X0:10", "X0:10", 4, status=MINUTE)
    site.index_still_ms["Y"] = 10 * MINUTE_MS
    site.unreadable[ClusterPartition(alias, *ORDERS)] = "orders-0 cannot be read from offset 10 on"
    assert site.said() == ("Stalled", "orders-0 cannot be read from offset 10 on")
    site.unreadable = {ClusterPartition("Z", *ORDERS): "no matter"}
    assert site.said() == IN_SYNC


def test_a_stopped_index_stalls_if_records_wait_for_it() -> None:
    site = moved("X0:10", "X0:10", 4, status=MINUTE)
    site.index_still_ms["Y"] = 10 * MINUTE_MS
    assert site.said() == IN_SYNC
    site.clusters["Y"].logs[ORDERS] = type(site.clusters["Y"].logs[ORDERS])(0, 12)
    site.pass_time(MINUTE_MS)
    assert site.said() == ("Mirroring", "2 records not indexed yet")
    site.pass_time(1)
    assert site.said() == ("Stalled", "index_records has made no progress for 60 s")


# Withheld, TargetActive


@pytest.mark.parametrize(
    ("reason", "spoil"),
    [
        ("TOPIC_RECREATED", lambda site: site.index.ids["X", "orders"].add("another")),
        ("LOG_TRUNCATED", lambda site: site.put(log("Y", "X0:3"))),
        ("PARTITIONS_DIFFER", lambda site: site.put(log("Y", "X0:10"), partitions=0)),
        ("NOT_INDEXED", lambda site: site.index.logs.pop(("Y", "orders", 0))),
        ("TOPIC_MISSING", lambda site: site.clusters["Y"].topics.clear()),
        ("TOPIC_UNAUTHORIZED", lambda site: site.clusters["Y"].forbidden.add("orders")),
        ("TOPIC_UNAUTHORIZED", lambda site: site.clusters["X"].forbidden.add("orders")),
        ("COMMIT_BEYOND_END", lambda site: site.commit("X", "g", 77)),
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


def test_a_topic_that_was_missing_and_is_refused_now_is_said_to_be_refused() -> None:
    site = moved("X0:10", "X0:10", 4)
    site.clusters["Y"].topics.clear()
    assert site.said() == ("Withheld", "TOPIC_MISSING")
    site.clusters["Y"].forbidden.add("orders")
    assert site.said() == ("Withheld", "TOPIC_UNAUTHORIZED")


def test_withheld_for_the_strategy() -> None:
    strategy = {"include": ["orders"], "strategy": "header"}
    assert moved("X0:10", "X0:10", 4, topics=strategy).said() == ("Withheld", "NO_REFERENCE")
    assert moved("X0:4 Z0", "X0:4 Z0", 4, topics=strategy).said() == ("Withheld", "STRATEGY_REFUSED")


def test_a_target_with_members_is_left_alone() -> None:
    site = status_site("X0:10", "X0:10")
    site.commit("X", "g", 4)
    site.active["Y"] = {"g"}
    assert site.said() == ("TargetActive", "the target's group has members")
    assert site.row()["is_target_active"] is True
    site.active = {"Y": {"other"}, "X": {"g"}}
    assert (site.said()[0], site.row()["is_target_active"]) == ("Behind", False)
    site.active["Y"] = ClusterError("Y", "too slow")
    assert (site.said()[0], site.row()["is_target_active"]) == ("Behind", None)


def test_every_word_has_been_said_here() -> None:
    words = ["Withheld", "Stalled", "Behind", "TargetActive", "Mirroring", "InSync"]
    assert [status.word for status in Status] == words
    assert [Status.of(word) for word in words] == list(Status)
    with pytest.raises(ValueError, match="'in sync' is no status; use one of Withheld, Stalled, Behind"):
        Status.of("in sync")
