"""Which partition holds a group, and what is not read of it yet."""

from __future__ import annotations

import pytest

from offset_sync.streams import StreamLag, Streams, coordinator_partition


@pytest.mark.parametrize(
    ("group_id", "code"),
    # Java's "…".hashCode(); the last one is Integer.MIN_VALUE, which has no positive counterpart.
    [
        ("", 0),
        ("a", 97),
        ("orders", -1008770331),
        ("größe", 98762257),
        ("😀", 1772899),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_the_partition_of_a_group_is_kafkas(group_id: str, code: int) -> None:
    for partitions in (1, 7, 50):
        size = 0 if code == -(2**31) else abs(code)
        assert coordinator_partition(group_id, partitions) == size % partitions


def test_only_the_partition_of_the_group_counts() -> None:
    behind = coordinator_partition("g", 3)
    streams = Streams({"X": StreamLag({0: 0, 1: 0, 2: 0} | {behind: 4}, 10), "Y": StreamLag({0: 0}, 0)}, {"X": 5})
    assert streams.unread_commits("X", "g") == 4
    others = [f"g{number}" for number in range(50)]
    assert {streams.unread_commits("X", name) for name in others if coordinator_partition(name, 3) != behind} == {0}
    assert (streams.unread_commits("Y", "g"), streams.unread_commits("Z", "g")) == (0, 0)


def test_the_longest_silence_of_both_clusters_counts() -> None:
    streams = Streams({"X": StreamLag({0: 1}, 10), "Y": StreamLag({0: 1}, 30)}, {"Y": 5})
    assert (streams.sync_silent_ms("X", "Y"), streams.sync_silent_ms("X", "Z")) == (30, 10)
    assert (streams.index_still_ms("X", "Y"), streams.index_still_ms("X", "Z")) == (5, 0)
