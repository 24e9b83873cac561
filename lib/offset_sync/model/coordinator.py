"""Which partition of ``__consumer_offsets`` has the records of a group."""

from __future__ import annotations


def coordinator_hash(group_id: str) -> int:
    """Return what a group's partition of ``__consumer_offsets`` is found by, as Kafka's ``partitionFor`` has it.

    Java's ``String.hashCode`` over UTF-16 units, without its sign; of the least number, which has no positive
    counterpart, 0 (``Utils.abs``).
    """
    units = group_id.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    size = code if code < 1 << 31 else (1 << 32) - code
    return 0 if size == 1 << 31 else size


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Return the partition of a group where ``__consumer_offsets`` has so many *partitions*, at least one."""
    return coordinator_hash(group_id) % partitions
