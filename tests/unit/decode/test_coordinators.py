"""Which partition of ``__consumer_offsets`` a group's coordinator leads."""

from __future__ import annotations

from offset_sync.decode.consumer_offsets import coordinator_hashes, coordinator_partition


def test_groups_have_the_hashes_and_the_partitions_that_java_gives_them() -> None:
    # "…".hashCode(); the last one is Integer.MIN_VALUE, which has no positive counterpart.
    codes = {"": 0, "a": 97, "orders": -1008770331, "größe": 98762257, "😀": 1772899, "polygenelubricants": -(2**31)}
    assert coordinator_hashes([*codes]).tolist() == [0 if code == -(2**31) else abs(code) for code in codes.values()]
    assert coordinator_hashes(["\ud800z"]).tolist() == [31 * 0xD800 + ord("z")]
    chosen = {"my-group": 12, "grüße-組": 4, "g848": 7, "😀": 49}  # by a broker
    assert [coordinator_partition(group, 50) for group in chosen] == [*chosen.values()]
