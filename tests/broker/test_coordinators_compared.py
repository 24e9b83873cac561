"""What coordinators hold and ``__consumer_offsets`` does not have, at real brokers: compared once after each start."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from broker.committed_offsets import Partition, admin_for, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from offset_sync.config import load_config
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(900)]

TOPIC = "compared"
PLACE: Partition = (TOPIC, 0)
SHIFT, COUNT = 3, 100


def set_log(cluster: EmbeddedCluster, **settings: str) -> None:
    """Set the configuration of the log of commits."""
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource, admin = (
        ConfigResource(ResourceType.TOPIC, CONSUMER_OFFSETS, incremental_configs=entries),
        admin_of(cluster),
    )
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


def lose_the_log(cluster: EmbeddedCluster) -> None:
    """Let retention delete all records of the log of commits."""
    set_log(cluster, cleanup_policy="compact,delete", retention_ms="1")
    assert (
        "delete"
        in OwnRights(cluster.alias, {"bootstrap.servers": cluster.bootstrap_servers}).topic_settings(CONSUMER_OFFSETS)[
            "cleanup.policy"
        ]
    )  # type: ignore[index]
    kafka = admin_for(cluster)
    places = [TopicPartition(CONSUMER_OFFSETS, n) for n in range(kafka.partition_count(CONSUMER_OFFSETS) or 0)]
    until(lambda: all(each.log_start == each.log_end for each in kafka.ends(places).values()))
    set_log(cluster, cleanup_policy="compact", retention_ms="-1")


def delete_group(cluster: EmbeddedCluster, group: str) -> None:
    admin = admin_of(cluster)
    admin.delete_consumer_groups([group])[group].result(60)


def offset(cluster: EmbeddedCluster, group: str) -> int | None:
    value = committed(cluster, [group])[group].get(PLACE)
    return None if value is None else value.offset


@pytest.fixture(scope="module")
def installation(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """dc2 has copies of dc1's records, three offsets higher."""
    clusters = soiled_clusters
    for cluster in clusters.values():
        create_topics(cluster, {TOPIC: 1})
    stamp = Stamp(since_ms=int(time.time() * 1000) - 60_000)
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)}, stamp)
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), SHIFT)]}, stamp)
    commit(clusters["dc1"], {"compared-first": {PLACE: 1}})
    servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
    found = install(
        tmp_path_factory.mktemp("compared"),
        servers,
        [TOPIC],
        sync={"refresh_interval": "1s", "reconcile_interval": "1s"},
        groups={"include": ["compared-.*"]},
    )
    assert found.index() == []
    return found


def cutover(installation: Installation, *words: str) -> list[str]:
    """Run the command from dc1 to dc2 here; return its failures."""
    options = [*words, "--conf", "x", "--from", "dc1", "--to", "dc2", "--planned", "--groups", "compared-moved"]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args(options)
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))


def asked_for(installation: Installation, group: str) -> list[tuple[int | None, bool]]:
    rows = installation.rows("offset_commits", cluster="dc1", group_id=group, captured_by="admin")
    return [(row["committed_offset"], row["is_own"]) for row in sorted(rows, key=lambda row: row["captured_at"])]


def test_each_run_finds_what_the_log_has_lost(soiled_clusters: Clusters, installation: Installation) -> None:
    dc1, dc2 = soiled_clusters["dc1"], soiled_clusters["dc2"]
    groups = ["compared-lost", "compared-back", "compared-gone", "compared-kept"]
    commit(dc1, {each: {PLACE: 60} for each in groups})
    lose_the_log(dc1)
    commit(dc1, {each: {PLACE: 60} for each in groups[1:]})
    assert installation.sync() == []
    assert [offset(dc2, group) for group in groups] == [60 + SHIFT] * 4
    # While no job runs one goes back and one is deleted, and the log does not say so any more.
    commit(dc1, {"compared-back": {PLACE: 20}})
    delete_group(dc1, "compared-gone")
    lose_the_log(dc1)
    assert installation.sync() == []
    assert asked_for(installation, "compared-lost") == [(60, False)]
    assert asked_for(installation, "compared-back") == [(20, False)]
    assert asked_for(installation, "compared-gone") == [(None, False)]
    assert asked_for(installation, "compared-kept") == []
    assert [offset(dc2, group) for group in groups] == [60 + SHIFT, 20 + SHIFT, 60 + SHIFT, 60 + SHIFT]
    written = len(installation.translations(group_id="compared-gone", outcome="COMMITTED"))
    refreshed = len(installation.translations(group_id="compared-kept", outcome="COMMITTED"))

    def is_refreshed() -> bool:
        assert installation.sync() == []
        return len(installation.translations(group_id="compared-kept", outcome="COMMITTED")) > refreshed

    until(is_refreshed)
    assert len(installation.translations(group_id="compared-gone", outcome="COMMITTED")) == written
    assert asked_for(installation, "compared-back") == [(20, False)], "it counts once"


def test_a_running_job_finds_it_and_takes_what_comes_later_from_the_log(
    soiled_clusters: Clusters, installation: Installation
) -> None:
    dc1, dc2 = soiled_clusters["dc1"], soiled_clusters["dc2"]
    commit(dc1, {"compared-running": {PLACE: 40}})
    lose_the_log(dc1)
    with installation.started("sync_offsets") as job:
        until(lambda: offset(dc2, "compared-running") == 40 + SHIFT, job=job)
        commit(dc1, {"compared-running": {PLACE: 50}})
        until(lambda: offset(dc2, "compared-running") == 50 + SHIFT, job=job)
    assert asked_for(installation, "compared-running") == [(40, False)]
    rows = installation.rows("offset_commits", cluster="dc1", group_id="compared-running", captured_by=None)
    assert [row["committed_offset"] for row in rows] == [50]


def test_a_report_and_a_move_need_no_job_to_know_it(soiled_clusters: Clusters, installation: Installation) -> None:
    dc1, dc2 = soiled_clusters["dc1"], soiled_clusters["dc2"]
    commit(dc1, {"compared-moved": {PLACE: 70}})
    lose_the_log(dc1)
    installation.report()
    (row,) = installation.rows("sync_status", group_id="compared-moved")
    assert (row["status"], row["source_cluster"], row["source_offset"], row["wanted_offset"]) == (
        "Behind",
        "dc1",
        70,
        70 + SHIFT,
    )
    assert cutover(installation, "apply", "--timeout", "100s") == []
    assert offset(dc2, "compared-moved") == 70 + SHIFT
