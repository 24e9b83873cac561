"""Clusters whose commits are polled: both jobs as they run for days, a move and the way back, a group that is set back.

The tests of this file share two processes and go through their life in order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from offset_sync.config import load_config
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(1200),
]

TOPIC, PLACE = "polled", ("polled", 0)
SHIFT, COUNT = 3, 100
BOTH = ("dc1", "dc2")


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """dc1 has produced records, which dc2 has behind aborted ones, three offsets higher."""
    for alias in BOTH:
        create_topics(clusters[alias], {TOPIC: 1})
    stamp = Stamp(since_ms=int(time.time() * 1000) - 60_000)
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)}, stamp)
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), SHIFT)]}, stamp)
    commit(clusters["dc1"], {"polled-before": {PLACE: 10}})
    servers = {alias: clusters[alias].bootstrap_servers for alias in BOTH}
    return install(
        tmp_path_factory.mktemp("polled"),
        servers,
        [TOPIC],
        polled=BOTH,
        sync={"poll_interval": "1s", "reconcile_interval": "2s", "commit_timeout": "5s", "home_silence": "5s"},
        index={"trigger_interval": "500ms"},
        groups={"include": ["polled-.*"]},
    )


@pytest.fixture(scope="module")
def jobs(installation: Installation) -> Iterator[None]:
    with installation.running():
        yield


def offset(cluster: EmbeddedCluster, group: str, place: Partition = PLACE) -> int | None:
    value = committed(cluster, [group])[group].get(place)
    return None if value is None else value.offset


def cutover(installation: Installation, action: str, source: str, target: str, group: str, *options: str) -> list[str]:
    """Run the command here; return its failures."""
    words = [action, "--conf", "x", "--from", source, "--to", target, "--groups", group, *options]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args(words)
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))


def test_commits_before_and_after_the_start_arrive(clusters: Clusters, installation: Installation, jobs: None) -> None:
    until(lambda: offset(clusters["dc2"], "polled-before") == 10 + SHIFT)
    commit(clusters["dc1"], {"polled-after": {PLACE: 20}})
    until(lambda: offset(clusters["dc2"], "polled-after") == 20 + SHIFT)
    commit(clusters["dc1"], {"polled-after": {PLACE: 15}})  # a rewind
    until(lambda: offset(clusters["dc2"], "polled-after") == 15 + SHIFT)
    rows = until(
        lambda: installation.rows("offset_commits", cluster="dc2", group_id="polled-after", committed_offset=18)
    )
    assert {(row["is_own"], row["captured_by"], row["log_partition"]) for row in rows} == {(True, "admin", -2)}


def test_a_reader_at_each_side_is_moved_at_neither(clusters: Clusters, installation: Installation, jobs: None) -> None:
    commit(clusters["dc1"], {"polled-both": {PLACE: 30}})
    until(lambda: offset(clusters["dc2"], "polled-both") == 30 + SHIFT)
    commit(clusters["dc1"], {"polled-both": {PLACE: 31}})
    commit(clusters["dc2"], {"polled-both": {PLACE: 60}})
    until(lambda: installation.translations(group_id="polled-both", state="COMMITTED_AT_BOTH"))
    assert (offset(clusters["dc1"], "polled-both"), offset(clusters["dc2"], "polled-both")) == (31, 60)


def test_a_group_goes_there_and_back_by_cutover(clusters: Clusters, installation: Installation, jobs: None) -> None:
    commit(clusters["dc1"], {"polled-moved": {PLACE: 40}})
    until(lambda: offset(clusters["dc2"], "polled-moved") == 40 + SHIFT)
    commit(clusters["dc1"], {"polled-moved": {PLACE: 44}})  # maybe not polled yet
    move = ("--planned", "--timeout", "200s", "--confirm-readers")
    assert cutover(installation, "apply", "dc1", "dc2", "polled-moved", *move) == []
    assert offset(clusters["dc2"], "polled-moved") == 44 + SHIFT
    commit(clusters["dc2"], {"polled-moved": {PLACE: 60 + SHIFT}})
    until(lambda: offset(clusters["dc1"], "polled-moved") == 60)
    assert cutover(installation, "apply", "dc2", "dc1", "polled-moved", *move) == []
    commit(clusters["dc1"], {"polled-moved": {PLACE: 70}})
    until(lambda: offset(clusters["dc2"], "polled-moved") == 70 + SHIFT)


def test_a_deleted_group_is_deleted_at_its_home_and_keeps_its_offset_elsewhere(
    clusters: Clusters, installation: Installation, jobs: None
) -> None:
    commit(clusters["dc1"], {"polled-gone": {PLACE: 5}})
    until(lambda: offset(clusters["dc2"], "polled-gone") == 5 + SHIFT)
    admin = admin_of(clusters["dc1"])
    admin.delete_consumer_groups(["polled-gone"])["polled-gone"].result(120)
    until(lambda: installation.rows("offset_commits", cluster="dc1", group_id="polled-gone", is_tombstone=True))
    assert offset(clusters["dc2"], "polled-gone") == 5 + SHIFT
