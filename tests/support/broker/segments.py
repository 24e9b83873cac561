"""Segment files of a broker that is not running."""

from __future__ import annotations

from offset_sync_demo.kafka.brokers import EmbeddedCluster

_BATCH_LENGTH_AT = 8


def keep_records(cluster: EmbeddedCluster, topic: str, partition: int, records: int) -> None:
    """Let a log lose all but its first *records*, as after the election of a leader without the others."""
    cluster.kill()
    (segment,) = cluster.directory.glob(f"logs/{topic}-{partition}/*.log")
    content = segment.read_bytes()
    segment.write_bytes(content[: _end_of(content, records)])
    cluster.start()


def change_record(cluster: EmbeddedCluster, topic: str, partition: int, before: bytes, after: bytes) -> None:
    """Let the disk have changed the bytes *before* in a log."""
    cluster.kill()
    (segment,) = cluster.directory.glob(f"logs/{topic}-{partition}/*.log")
    content = segment.read_bytes()
    assert content.count(before) == 1
    assert len(before) == len(after)
    segment.write_bytes(content.replace(before, after))
    cluster.start()


def _end_of(segment: bytes | bytearray, records: int) -> int:
    """Return where the batch ends that holds the last of the first *records*; it has to end there."""
    end = last = 0
    while last < records:
        base = int.from_bytes(segment[end : end + 8], "big")
        last = base + int.from_bytes(segment[end + 23 : end + 27], "big") + 1
        end += 12 + int.from_bytes(segment[end + _BATCH_LENGTH_AT : end + _BATCH_LENGTH_AT + 4], "big")
    assert last == records, "cut inside a batch"
    return end


def corrupt_batch(cluster: EmbeddedCluster, topic: str, partition: int, offset: int) -> None:
    """Change the last byte of the batch that begins at *offset*: its CRC is wrong, and the broker serves it."""
    cluster.stop()  # after a crash the broker would read the log and cut it there
    (segment,) = cluster.directory.glob(f"logs/{topic}-{partition}/*.log")
    content = bytearray(segment.read_bytes())
    begin = _end_of(content, offset)
    length = int.from_bytes(content[begin + _BATCH_LENGTH_AT : begin + _BATCH_LENGTH_AT + 4], "big")
    content[begin + _BATCH_LENGTH_AT + 4 + length - 1] ^= 0xFF
    segment.write_bytes(content)
    cluster.start()
