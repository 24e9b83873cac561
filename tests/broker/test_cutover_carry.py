"""``cutover`` there and back beside a ``sync_offsets`` that carries metadata over: each commit stays whose it is."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, create_topics, write_log
from broker.group_member import member
from broker.installation import Installation, install, until
from offset_sync.config import load_config
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(900)]

TOPIC, GROUP, PLACE = "carried", "carried", ("carried", 0)


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """dc2 has what dc1 has produced two offsets higher; a pass comes so seldom that only micro-batches repair."""
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1})
    began_ms = int(time.time() * 1000) - 60_000
    write_log(clusters["dc2"], {PLACE: [None, None]})
    for alias in ("dc1", "dc2"):
        producer = Producer(client_options(clusters[alias].bootstrap_servers))
        for number in range(20):
            headers = [("IDC", b"dc1"), ("Offset", b"%d" % number)] if alias == "dc2" else []
            producer.produce(TOPIC, b"%d" % number, partition=0, timestamp=began_ms + number, headers=headers)
        assert producer.flush(120) == 0
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    sync = {"metadata": "carry", "trigger_interval": "500ms", "reconcile_interval": "1h"}
    return install(tmp_path_factory.mktemp("carried"), servers, [TOPIC], sync=sync)


def move(installation: Installation, source: str, target: str) -> list[str]:
    words = ["apply", "--conf", "x", "--from", source, "--to", target, "--groups", GROUP, "--planned"]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args([*words, "--timeout", "400s"])
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))


def test_moves_there_and_back_are_not_taken_for_commits_of_the_group(
    clusters: Clusters, installation: Installation
) -> None:
    def stands(alias: str) -> tuple[int, str]:
        found = committed(clusters[alias], [GROUP])[GROUP].get(PLACE)
        return (found.offset, found.metadata) if found else (-1, "")

    def commit_unseen(source: str, target: str, offset: int, metadata: str) -> None:
        """Have the group commit while sync_offsets may not write what follows, so that it is left to the move."""
        with member(clusters[target], GROUP, TOPIC):
            commit(clusters[source], {GROUP: {PLACE: (offset, metadata)}})
            until(lambda: installation.translations(source_offset=offset, outcome="TARGET_ACTIVE"))

    def whose(alias: str) -> list[tuple[int, bool]]:
        rows = sorted(
            installation.rows("offset_commits", cluster=alias, group_id=GROUP), key=lambda row: row["log_offset"]
        )
        return [(row["committed_offset"], row["is_own"]) for row in rows]

    commit(clusters["dc1"], {GROUP: {PLACE: (5, "m")}})
    assert installation.index() == []
    with installation.started("sync_offsets") as job:
        until(lambda: stands("dc2") == (7, "m"), job=job)
        commit_unseen("dc1", "dc2", 9, "n")
        assert move(installation, "dc1", "dc2") == []
        assert stands("dc2") == (11, "n")
        until(lambda: (11, True) in whose("dc2"), job=job)
        commit_unseen("dc2", "dc1", 15, "o")
        assert move(installation, "dc2", "dc1") == []
        assert stands("dc1") == (13, "o")
        until(lambda: (13, True) in whose("dc1"), job=job)
    assert whose("dc2") == [(7, True), (11, True), (15, False)]
    assert whose("dc1") == [(5, False), (9, False), (13, True)]
