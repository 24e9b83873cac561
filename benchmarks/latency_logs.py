"""Two logs of one topic that cross at every record: the index of such a topic has one run per record.

Offset 2k of either cluster is its own k-th record, offset 2k + 1 the other's k-th: what a group at dc1 has read below
an even offset 2k it has also read, at dc2, below 2k; below an odd one everything at dc2 but its own record 2k.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping

from confluent_kafka import Producer

from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.topics import create_topic

STEADY = "steady"


def write_crossed_logs(clusters: Mapping[str, EmbeddedCluster], partitions: int, records: int, spare: int) -> int:
    """Write so many records, over all partitions, to both clusters; return an even offset with *spare* ones above."""
    create_topic(clusters.values(), STEADY, partitions)
    each = max(records // partitions, 2 * (spare + 10)) // 2 * 2
    servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
    pairs = [(servers[alias], other, partitions, each) for alias, other in zip(servers, reversed(servers), strict=True)]
    with multiprocessing.get_context("spawn").Pool(len(pairs)) as pool:
        pool.starmap(write_log, pairs)
    return each - spare // 2 * 2 - 10


def write_log(servers: str, other: str, partitions: int, records: int) -> None:
    """Write the log of one cluster, of which every second record comes from the *other* one."""
    options = {"linger.ms": 20, "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({"bootstrap.servers": servers, "log_level": 0, **options})
    for partition in range(partitions):
        for offset in range(records):
            headers = {"IDC": other.encode(), "Offset": b"%d" % (offset - 1)} if offset % 2 else {}
            producer.produce(STEADY, b"record", partition=partition, headers={**headers})
            if offset % 10_000 == 0:
                producer.poll(0)
        producer.flush()
