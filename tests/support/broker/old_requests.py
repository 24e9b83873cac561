"""Requests that only old clients send, byte by byte."""

from __future__ import annotations

import socket
import struct

from broker.committed_offsets import Partition
from offset_sync_demo.kafka.brokers import EmbeddedCluster

_OFFSET_COMMIT, _VERSION, _CORRELATION = 8, 2, 7


def commit_of_version_2(cluster: EmbeddedCluster, group_id: str, place: Partition, offset: int) -> None:
    """Commit as clients of Kafka 0.9 to 1.0 do; such a one may have no group id."""
    topic, partition = place
    body = (
        _text(group_id)
        + struct.pack(">i", -1)  # no generation
        + _text("")  # no member
        + struct.pack(">q", -1)  # kept as long as the broker keeps offsets
        + struct.pack(">i", 1)
        + _text(topic)
        + struct.pack(">iiq", 1, partition, offset)
        + _text("")
    )
    header = struct.pack(">hhi", _OFFSET_COMMIT, _VERSION, _CORRELATION) + _text("old")
    host, _, port = cluster.bootstrap_servers.partition(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        (length,) = struct.unpack(">i", _read(connection, 4))
        answer = _read(connection, length)
    (error,) = struct.unpack(">h", answer[-2:])
    assert error == 0, f"the broker says {error}"


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _read(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        more = connection.recv(length - len(found))
        assert more, "the broker closed the connection"
        found += more
    return found
