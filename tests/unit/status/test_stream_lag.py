"""Which partition holds a group, and what is not read of it yet."""

from __future__ import annotations

from offset_sync.model.held_commits import HeldCommits, OpenTransaction
from offset_sync.model.values import GroupPartition
from offset_sync.state.coordinators import coordinator_hashes
from offset_sync.status.stream_lag import JobProgress, StreamLag


def unread(progress: JobProgress, cluster: str, *groups: str) -> list[int | None]:
    """What is unread of each group's partition; None where it is not known."""
    counts, is_known = progress.unread_commits(cluster, coordinator_hashes(groups))
    return [count if known else None for count, known in zip(counts.tolist(), is_known.tolist(), strict=True)]


def test_only_the_partition_of_the_group_counts() -> None:
    behind = coordinator_hashes(["g"])[0] % 3
    progress = JobProgress({"X": StreamLag({0: 0, 1: 0, 2: 0} | {behind: 4}, 10, 3)})
    others = [name for name in (f"g{number}" for number in range(50)) if coordinator_hashes([name])[0] % 3 != behind]
    assert unread(progress, "X", "g", *others) == [4] + [0] * len(others)


def test_what_does_not_answer_is_not_known_and_what_does_not_exist_is_read() -> None:
    progress = JobProgress({"X": StreamLag(), "Y": StreamLag({1: 0}, 0, 2)})
    assert unread(progress, "X", "a", "b") == [0, 0]
    assert unread(progress, "Z", "a", "b") == [None, None]
    odd, even = "a", "b"  # 97 and 98: partition 0 has no leader now
    assert unread(progress, "Y", odd, even) == [0, None]


def test_a_partition_that_came_while_being_asked_does_not_count() -> None:
    assert unread(JobProgress({"X": StreamLag({0: 3, 1: 4}, 0, 1)}), "X", "a", "b") == [3, 3]


def test_the_longest_silence_of_both_clusters_counts() -> None:
    progress = JobProgress({"X": StreamLag({0: 1}, 10, 1), "Y": StreamLag({0: 1}, 30, 1)}, {"Y": 5})
    assert (progress.sync_silent_ms("X", "Y"), progress.sync_silent_ms("X", "Z")) == (30, 10)
    assert (progress.index_still_ms("X", "Y"), progress.index_still_ms("X", "Z")) == (5, 0)


def test_an_open_transaction_holds_back_the_keys_behind_it_and_no_other() -> None:
    odd, even = "a", "b"  # 97 and 98
    keys = [GroupPartition(group, "orders", number) for group in (odd, even) for number in (0, 1)]
    transaction = OpenTransaction("orders-app", 4001, 1_700_000_000_000)
    held = HeldCommits(1, 20, 23, frozenset(keys[:1]), (transaction,))
    progress = JobProgress({"X": StreamLag({0: 0, 1: 0}, 0, 2, {1: held}), "Y": StreamLag({0: 0, 1: 0}, 0, 2)})
    reason = (
        "an open transaction holds commits back from offset 20 of __consumer_offsets-1 at X: "
        "producer 4001 ('orders-app', since 2023-11-14T22:13:20+00:00)"
    )
    assert progress.held_back("YX", keys).tolist() == [reason, None, None, None]
    assert progress.held_back("Y", keys).tolist() == [None] * 4
    assert progress.sync_silent_ms("X", "Y") == 0


def test_where_it_is_not_known_what_is_held_back_all_groups_of_the_partition_wait() -> None:
    keys = [GroupPartition(group, "orders", 0) for group in ("a", "b", "c")]
    progress = JobProgress({"X": StreamLag({0: 0, 1: 0}, 0, 2, {1: HeldCommits(1, 20, 23, None)})})
    found = progress.held_back("X", keys).tolist()
    assert [reason is not None for reason in found] == [True, False, True]
    assert "since offset 20 of __consumer_offsets-1 at X" in found[0]
    assert "kafka-transactions.sh describe-producers names its producer" in found[0]
