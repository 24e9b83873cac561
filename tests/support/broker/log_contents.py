"""The contents of the logs of a real cluster, read with a plain consumer and by no code of the product."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import TopicPartition

from broker.committed_offsets import Partition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import list_partitions, open_partition_reader, read_partition

COMMITS = "__consumer_offsets"
UNREADABLE = ("", -1)
"""Identity of a record whose headers cannot be read."""


@dataclass(frozen=True)
class Record:
    """A record of a log; *identity* is where it was produced, cluster and offset, by its headers."""

    offset: int
    identity: tuple[str, int]
    value: bytes


@dataclass(frozen=True)
class CommitRecord:
    """A record of ``__consumer_offsets`` about the offset of *key*: group, topic and partition."""

    log_partition: int
    log_offset: int
    key: tuple[str, str, int]


def read_records(cluster: EmbeddedCluster, place: Partition, origins: Mapping[str, str]) -> list[Record]:
    """Return what a partition holds; *origins* are clusters by what the origin header IDC says."""
    found = []
    for message in read_partition(cluster, place):
        headers = dict(message.headers() or [])
        identity = (cluster.alias, message.offset())
        if "IDC" in headers:
            digits = bytes(headers["Offset"]).decode()
            identity = (origins[bytes(headers["IDC"]).decode()], int(digits)) if digits.isdigit() else UNREADABLE
        found.append(Record(message.offset(), identity, message.value() or b""))
    return found


def log_start(cluster: EmbeddedCluster, places: Iterable[Partition]) -> dict[Partition, int]:
    """Return where the log of each partition begins."""
    consumer = open_partition_reader(cluster, "starts")
    try:
        return {place: consumer.get_watermark_offsets(TopicPartition(*place), 10.0)[0] for place in places}
    finally:
        consumer.close()


def read_commit_records(cluster: EmbeddedCluster) -> tuple[list[CommitRecord], int]:
    """Return every record about a committed offset, and how many there are about classic groups."""
    commits, groups = [], 0
    for topic, number in list_partitions(cluster, [COMMITS]):
        for message in read_partition(cluster, (topic, number)):
            key = message.key() or b""
            (version,) = struct.unpack_from(">h", key)
            if version <= 1:
                commits.append(CommitRecord(number, message.offset(), _commit_key(key)))
            groups += version == 2
    return commits, groups


def first_unread(source: Sequence[Record], committed: int, target: Sequence[Record], target_end: int) -> int:
    """Return where a group that has read *source* up to *committed* has to start at the target.

    By what the producers wrote, and by the definition: the first record there that it has not read, else the end.
    """
    read = {record.value for record in source if record.offset < committed}
    return next((record.offset for record in target if record.value not in read), target_end)


def _commit_key(key: bytes) -> tuple[str, str, int]:
    texts, at = [], 2
    for _ in range(2):
        (length,) = struct.unpack_from(">h", key, at)
        texts.append(key[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return texts[0], texts[1], struct.unpack_from(">i", key, at)[0]
