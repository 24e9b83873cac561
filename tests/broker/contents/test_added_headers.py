"""Copies with the header that MSK Replicator adds to each, written as it writes them: they are matched by contents."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import install
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = pytest.mark.timeout(600)

COUNT, AGAIN, FIRST_MS = 200, 3, int(time.time() * 1000) - 60_000
ORIGINAL, COPY = ("added", 0), ("dc1.added", 0)
ADDED: Headers = [("__mskmr", b"id of dc1")]


def write(cluster: EmbeddedCluster, topic: str, numbers: Sequence[int], added: Headers) -> None:
    create_topics(cluster, {topic: 1})
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True))
    for number in numbers:
        own: Headers = [("trace", b"%d" % number)] if number % 2 else []
        content = b"%d" % number
        producer.produce(topic, content, partition=0, timestamp=FIRST_MS + number, headers=[*own, *added])
    assert producer.flush(120) == 0


def test_groups_move_exactly_both_ways_and_no_copy_counts_as_altered(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    write(clusters["dc1"], ORIGINAL[0], range(COUNT), [])
    write(clusters["dc2"], COPY[0], [*range(AGAIN), *range(COUNT)], ADDED)
    commit(clusters["dc1"], {"mskmr-forward": {ORIGINAL: 50}})
    commit(clusters["dc2"], {"mskmr-back": {COPY: AGAIN + 120}})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    groups = {"include": ["mskmr-.*"]}
    installation = install(
        tmp_path, servers, [ORIGINAL[0]], mirror={"names": "mm2"}, extensions={"contents": {}}, groups=groups
    )
    assert (installation.index(), installation.sync()) == ([], [])
    assert committed(clusters["dc2"], ["mskmr-forward"])["mskmr-forward"][COPY].offset == AGAIN + 50
    assert committed(clusters["dc1"], ["mskmr-back"])["mskmr-back"][ORIGINAL].offset == 120
    runs = [row for row in installation.rows("record_runs", cluster="dc2") if row["length"]]
    assert {row["origin"] for row in runs} == {"dc1"}
