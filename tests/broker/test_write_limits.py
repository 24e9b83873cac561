"""What a target may refuse for a while: requests beyond its quota, and commits larger than a batch of its log."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed, small_batches
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from consumer.moving import cutover
from offset_sync.kafka.requests import THROTTLED
from offset_sync.model.values import OffsetWrite, Outcome, Rule
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync_demo.kafka.broker_files import java_command
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters

pytestmark = [pytest.mark.broker, pytest.mark.versions]

TOPIC, PARTITIONS, GROUPS = "limited", 4, 1000
PLACES = [(TOPIC, number) for number in range(PARTITIONS)]


@pytest.fixture
def throttled(broker_parts: None, tmp_path: Path) -> Iterator[EmbeddedCluster]:
    """A cluster whose quota allows this program a hundredth of one thread."""
    with running_clusters(["dc1"], tmp_path) as clusters:
        committed(clusters["dc1"], ["any"])  # has the topic of commits made
        quota(clusters["dc1"], "--add-config", "request_percentage=1")
        yield clusters["dc1"]


def quota(cluster: EmbeddedCluster, *change: str) -> None:
    whose = ("--entity-type", "clients", "--entity-name", "offset-sync")
    words = ("kafka.admin.ConfigCommand", "--bootstrap-server", cluster.bootstrap_servers, "--alter", *change, *whose)
    subprocess.run(java_command(cluster.directory, *words), check=True, capture_output=True, timeout=120)


def test_a_quota_is_named_as_the_reason_and_a_commit_that_it_delays_is_made_later(throttled: EmbeddedCluster) -> None:
    create_topics(throttled, {TOPIC: PARTITIONS})
    write_log(throttled, {place: native_log("dc1", 20) for place in PLACES})
    writes = [
        OffsetWrite(f"quota-{number}", *place, 7, None, Rule.SET, None) for number in range(GROUPS) for place in PLACES
    ]
    writer = TargetWriter(
        "dc1", {"bootstrap.servers": throttled.bootstrap_servers}, is_dry_run=False, deadline_seconds=6.0
    )
    outcomes = writer.write(writes)
    assert {each.outcome for each in outcomes} <= {Outcome.FAILED, Outcome.COMMITTED}
    reasons = {each.error for each in outcomes if each.outcome is Outcome.FAILED}
    assert reasons
    assert all(reason is not None and THROTTLED in reason for reason in reasons)
    quota(throttled, "--delete-config", "request_percentage")
    done = {Outcome.UNCHANGED, Outcome.COMMITTED}
    until(lambda: {each.outcome for each in writer.write(writes)} <= done, 120)  # what the broker delays takes its time
    found = committed(throttled, [f"quota-{number}" for number in range(GROUPS)])
    assert all(
        {place: each.offset for place, each in held.items()} == dict.fromkeys(PLACES, 7) for held in found.values()
    )


MANY, WIDE = 300, "wide"
WIDE_PLACES = [(WIDE, number) for number in range(MANY)]


@pytest.fixture
def wide(clusters: Clusters, spark_environment: None, tmp_path: Path) -> Iterator[Installation]:
    """A group of 300 partitions at dc1, whose commit does not fit into a batch of dc2's coordinators."""
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {WIDE: MANY})
    write_log(clusters["dc1"], {place: native_log("dc1", 9) for place in WIDE_PLACES})
    write_log(clusters["dc2"], {place: [*[None] * 3, *copied_log("dc1", range(9), first=3)] for place in WIDE_PLACES})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    with small_batches(clusters["dc2"]):
        installation = install(tmp_path, servers, [WIDE], groups={"include": ["wide-.*"]})
        assert installation.index() == []
        yield installation


def test_a_group_of_many_partitions_is_committed_where_batches_are_small(
    clusters: Clusters, wide: Installation
) -> None:
    def at_dc2(group: str) -> set[int]:
        return {each.offset for each in committed(clusters["dc2"], [group])[group].values()}

    commit(clusters["dc1"], {"wide-one": dict.fromkeys(WIDE_PLACES, 2), "wide-two": {WIDE_PLACES[0]: 2}})
    assert wide.sync() == []
    assert len(committed(clusters["dc2"], ["wide-one"])["wide-one"]) == MANY
    assert (at_dc2("wide-one"), at_dc2("wide-two")) == ({5}, {5})
    commit(clusters["dc1"], {"wide-one": dict.fromkeys(WIDE_PLACES, 6), "wide-new": dict.fromkeys(WIDE_PLACES, 3)})
    assert wide.sync(no_writes=True) == []
    assert (at_dc2("wide-one"), at_dc2("wide-new")) == ({5}, set())
    assert cutover(wide, "apply", "dc1", "dc2", "--groups", "wide-.*", "--disaster") == []
    assert (at_dc2("wide-one"), at_dc2("wide-new")) == ({9}, {6})
    assert len(committed(clusters["dc2"], ["wide-new"])["wide-new"]) == MANY
