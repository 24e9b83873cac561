"""What an open transaction holds back in the log of commits, told by key."""

from __future__ import annotations

from dataclasses import replace

from fakes.clusters import GroupOffset
from fakes.reconciler_site import ORDERS
from fakes.status_site import moved
from offset_sync.model.held_commits import HeldCommits
from offset_sync.model.values import GroupPartition
from offset_sync.status.job_progress import JobProgress, StreamLag

MINUTE = {"stalled_after": "60s"}


def test_an_open_transaction_holds_back_the_keys_behind_it_and_no_other() -> None:
    odd, even = "a", "b"  # 97 and 98
    keys = [GroupPartition(group, "orders", number) for group in (odd, even) for number in (0, 1)]
    held = HeldCommits(1, 20, 23, frozenset(keys[:1]), 1_700_000_000_000)
    progress = JobProgress({"X": StreamLag({0: 0, 1: 0}, 0, 2, {1: held}), "Y": StreamLag({0: 0, 1: 0}, 0, 2)})
    reason = (
        "an open transaction holds commits back from offset 20 of __consumer_offsets-1 at X "
        "since 2023-11-14T22:13:20+00:00"
    )
    assert progress.held_back("YX", keys).tolist() == [reason, None, None, None]
    assert progress.held_back("Y", keys).tolist() == [None] * 4
    of_all = JobProgress({"X": StreamLag({0: 0, 1: 0}, 0, 2, {1: replace(held, keys=None)})})
    assert [each is not None for each in of_all.held_back("X", keys).tolist()] == [True, True, False, False]
    silent = JobProgress({"X": StreamLag({0: 1}, 10, 1), "Y": StreamLag({0: 1}, 30, 1)}, {"Y": 5})
    assert (silent.sync_silent_ms("X", "Y"), silent.index_still_ms("X", "Y")) == (30, 5)


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
