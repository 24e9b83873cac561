"""Logs that end where those of a large index do, on real brokers, without writing all their records.

Of the logs of ``scale_index`` a broker gets the first record and the last one, as compaction may leave a log: their
batches are put into its segment files while it does not run. What follows is written by clients, record by record, as
in ``latency_logs``: every second one comes from the other cluster.
"""

from __future__ import annotations

import multiprocessing
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import Producer
from scale_index import ALIASES, Blocks

from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.mirror import OFFSET_HEADER, ORIGIN_HEADER

_SEGMENT = f"{0:020d}.log"
_CASTAGNOLI = 0x82F63B78


def write_long_logs(clusters: Mapping[str, EmbeddedCluster], topic: str, logs: Sequence[Blocks], tail: int) -> None:
    """Make *topic* on both clusters, with logs that end as *logs* do and have so many records of a *tail* beyond."""
    create_topic(clusters.values(), topic, len(logs))
    folders = {
        alias: [clusters[alias].directory / "logs" / f"{topic}-{n}" for n in range(len(logs))] for alias in ALIASES
    }
    _wait_for_files([folder for each in folders.values() for folder in each])
    for cluster in clusters.values():
        cluster.kill()
    for number, alias in enumerate(ALIASES):
        for partition, blocks in enumerate(logs):
            _put_ends(folders[alias][partition], blocks, number)
    for cluster in clusters.values():
        cluster.launch()
    for cluster in clusters.values():
        cluster.wait_until_ready()
    ends = [blocks.end for blocks in logs]
    servers = [clusters[alias].bootstrap_servers for alias in ALIASES]
    given = [(servers[number], ALIASES[1 - number], topic, ends, tail) for number in range(len(ALIASES))]
    with multiprocessing.get_context("spawn").Pool(len(given)) as pool:
        pool.starmap(write_tail, given)


def _wait_for_files(folders: Sequence[Path]) -> None:
    """Return when brokers have begun their logs: a topic has leaders before."""
    until = time.monotonic() + 60.0
    while not all((folder / _SEGMENT).exists() for folder in folders):
        if time.monotonic() > until:
            raise SystemExit(f"there are no logs in {folders[0].parent}")
        time.sleep(0.2)


def write_tail(servers: str, other: str, topic: str, ends: Sequence[int], records: int) -> None:
    """Write so many *records* from *ends* on, of which every second one comes from the *other* cluster."""
    options = {"linger.ms": 20, "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    producer, placed = Producer({"bootstrap.servers": servers, "log_level": 0, **options}), []
    for partition, end in enumerate(ends):
        for offset in range(end, end + records):
            is_copy = (offset - end) % 2 == 1
            headers = {ORIGIN_HEADER: other.encode(), OFFSET_HEADER: b"%d" % (offset - 1)} if is_copy else {}
            heard = None if offset > end else lambda _, message: placed.append(message.offset())
            producer.produce(topic, b"record", partition=partition, headers={**headers}, on_delivery=heard)
        producer.flush()
    if placed != list(ends):
        raise SystemExit(f"the tails begin at {placed} and should at {list(ends)}")


def _put_ends(folder: Path, blocks: Blocks, cluster: int) -> None:
    now_ms = int(time.time() * 1000)
    headers = [(ORIGIN_HEADER, ALIASES[1 - cluster].encode()), (OFFSET_HEADER, b"%d" % blocks.last_copied(cluster))]
    batches = batch(0, now_ms, []) + batch(blocks.end - 1, now_ms, headers)
    (folder / _SEGMENT).write_bytes(batches)


def batch(offset: int, at_ms: int, headers: Sequence[tuple[str, bytes]]) -> bytes:
    """Return a batch of one record as brokers store it (format 2)."""
    body = b"".join([b"\0\0\0", _sized(None), _sized(b"record"), _varint(len(headers))])
    body += b"".join(_sized(name.encode()) + _sized(value) for name, value in headers)
    # Attributes, last offset's delta, both times, no producer, one record.
    checked = struct.pack(">hiqqqhii", 0, 0, at_ms, at_ms, -1, -1, -1, 1) + _varint(len(body)) + body
    after = struct.pack(">ibI", 0, 2, _crc(checked)) + checked
    return struct.pack(">qi", offset, len(after)) + after


def _sized(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content


def _varint(number: int) -> bytes:
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def _crc(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (_CASTAGNOLI if found & 1 else 0)
    return found ^ 0xFFFFFFFF
