"""Requests that no client of ours makes, written to a broker's socket byte by byte."""

from __future__ import annotations

import socket
import struct

from broker.committed_offsets import Partition
from offset_sync_demo.kafka.brokers import EmbeddedCluster

_OFFSET_COMMIT, _VERSION = 8, 2
_NO_MEMBER = struct.pack(">ih", -1, 0)  # no generation, and an empty id
_RETENTION_OF_BROKER = struct.pack(">q", -1)


def commit_as_simple_consumer(cluster: EmbeddedCluster, group_id: str, place: Partition, offset: int) -> int:
    """Commit by OffsetCommit v2, as simple consumers do, also with an empty group id; return Kafka's error code."""
    header = struct.pack(">hhi", _OFFSET_COMMIT, _VERSION, 1) + _string("raw")
    group = _string(group_id) + _NO_MEMBER + _RETENTION_OF_BROKER
    topic, partition = place
    topics = struct.pack(">i", 1) + _string(topic) + struct.pack(">iiq", 1, partition, offset) + _string("")
    answer = _answer(cluster, header + group + topics)
    (error,) = struct.unpack(">h", answer[-2:])
    return int(error)


def _answer(cluster: EmbeddedCluster, request: bytes) -> bytes:
    host, _, port = cluster.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port)), 60) as connection, connection.makefile("rwb") as stream:
        stream.write(struct.pack(">i", len(request)) + request)
        stream.flush()
        (size,) = struct.unpack(">i", stream.read(4))
        return stream.read(size)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()
