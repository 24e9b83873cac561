"""Headers of Redpanda Migrator on real brokers, as it writes them; its origin is the id that Kafka itself says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import install
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(1200)]

MIGRATED: Partition = ("migrated", 0)
COUNT, MIRRORED_FROM = 20, 4
FIRST_MS = int(time.time() * 1000) - 60_000  # not so old that retention takes them


def unstamped(_number: int) -> Headers:
    return []


def write(
    cluster: EmbeddedCluster, place: Partition, numbers: Iterable[int], stamp: Callable[[int], Headers] = unstamped
) -> None:
    """Write records, each with the same content and time wherever it is written."""
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True))
    for number in numbers:
        content = {"value": b"%d" % number, "timestamp": FIRST_MS + number, "headers": stamp(number)}
        producer.produce(place[0], partition=place[1], **content)
    assert producer.flush(120) == 0


def id_of(cluster: EmbeddedCluster) -> str:
    return str(admin_of(cluster).list_topics(timeout=120).cluster_id)


def by_migrator(provenance: str) -> Callable[[int], Headers]:
    header, number = "redpanda-migrator-provenance", "redpanda-migrator-offset"
    return lambda offset: [(number, offset.to_bytes(8, "big")), (header, provenance.encode())]


def held(cluster: EmbeddedCluster, group: str, place: Partition) -> int | None:
    found = committed(cluster, [group]).get(group, {}).get(place)
    return None if found is None else found.offset


def servers_of(clusters: Clusters) -> dict[str, str]:
    return {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}


def test_redpandas_origins_are_asked_at_the_clusters_and_a_copy_of_another_hop_is_unread(
    clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {MIGRATED[0]: 1})
    write(clusters["dc1"], MIGRATED, range(COUNT))
    stamp = by_migrator(id_of(clusters["dc1"]))
    write(clusters["dc2"], MIGRATED, range(MIRRORED_FROM, 13), stamp)
    write(clusters["dc2"], MIGRATED, [0], by_migrator("id of a third one"))
    write(clusters["dc2"], MIGRATED, range(13, COUNT), stamp)
    folder = tmp_path_factory.mktemp("migrated")
    installation = install(folder, servers_of(clusters), [MIGRATED[0]], mirror={"preset": "redpanda-migrator"})
    commit(clusters["dc1"], {"migrated-9": {MIGRATED: 9}, "migrated-16": {MIGRATED: 16}})
    assert (installation.index(), installation.sync()) == ([], [])
    assert held(clusters["dc2"], "migrated-9", MIGRATED) == 9 - MIRRORED_FROM
    assert held(clusters["dc2"], "migrated-16", MIGRATED) == 13 - MIRRORED_FROM  # in front of that copy
    (row,) = installation.rows("quarantine")
    assert "'id of a third one' is of no cluster" in row["error"]
    kept = json.loads((folder / "checkpoints" / "index_records.cluster_ids.json").read_text())
    assert kept == {alias: id_of(clusters[alias]) for alias in ("dc1", "dc2")}
