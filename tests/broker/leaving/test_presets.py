"""Other mirrors on real brokers: headers of Redpanda Migrator, and a copy byte for byte under another name.

None of the mirrors runs: records are written as these write them. Redpanda's origin is the id that Kafka itself says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import Installation, install
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(1200)]

MIGRATED: Partition = ("migrated", 0)
LINKED: Partition = ("linked", 0)
LINKED_COPY: Partition = ("dc1.linked", 0)
COUNT, MIRRORED_FROM, LINKED_TO = 20, 4, 16
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


def said(installation: Installation, group: str) -> tuple[str, str]:
    row = installation.last_translation(group)
    return row["state"], row["outcome"]


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


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A topic that dc2 has byte for byte, renamed."""
    create_topics(clusters["dc1"], {LINKED[0]: 1})
    create_topics(clusters["dc2"], {LINKED_COPY[0]: 1})
    write(clusters["dc1"], LINKED, range(COUNT))
    write(clusters["dc2"], LINKED_COPY, range(LINKED_TO))
    commit(clusters["dc1"], {"linked-12": {LINKED: 12}, "linked-18": {LINKED: 18}})
    overrides = [{"topics": [LINKED[0]], "strategy": "identity"}]
    folder, mirror = tmp_path_factory.mktemp("renamed"), {"names": "mm2"}
    made = install(folder, servers_of(clusters), [LINKED[0]], mirror=mirror, topics={"overrides": overrides})
    assert (made.index(), made.sync()) == ([], [])
    return made


def test_a_copy_byte_for_byte_has_the_same_offset_up_to_its_end(clusters: Clusters, installation: Installation) -> None:
    assert held(clusters["dc2"], "linked-12", LINKED_COPY) == 12
    assert said(installation, "linked-12") == ("EXACT", "COMMITTED")
    assert held(clusters["dc2"], "linked-18", LINKED_COPY) == LINKED_TO
    assert said(installation, "linked-18") == ("AT_FRONTIER", "COMMITTED")


def test_once_the_copy_is_written_to_it_is_withheld_also_when_the_original_has_grown_beyond(
    clusters: Clusters, installation: Installation
) -> None:
    write(clusters["dc2"], LINKED_COPY, range(LINKED_TO, COUNT))  # the rest of the copy, then its own
    write(clusters["dc2"], LINKED_COPY, range(100, 103))
    assert installation.index() == []
    for first, read in ((COUNT, 20), (COUNT + 5, 24)):
        commit(clusters["dc1"], {"linked-12": {LINKED: read}})
        assert installation.sync() == []
        assert said(installation, "linked-12") == ("COPY_WRITTEN", "WITHHELD")
        assert held(clusters["dc2"], "linked-12", LINKED_COPY) == 12
        write(clusters["dc1"], LINKED, range(first, first + 5))
        assert installation.index() == []
    (noted,) = installation.rows("log_incarnations", reason="WRITTEN")
    assert (noted["cluster"], noted["topic"], noted["begins_at"]) == ("dc2", LINKED_COPY[0], COUNT)
