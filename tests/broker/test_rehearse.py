"""A rehearsal with real brokers: what contents say of a move agrees with what was predicted of it."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, create_topics, wait_for_ends
from broker.installation import Installation, install
from consumer.moving import cutover
from offset_sync.config import load_config
from offset_sync.jobs.cutover import add_arguments
from offset_sync.jobs.cutover import cutover as cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.status.rehearsals import Rehearsals
from offset_sync.tables.store import TableStore
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(300)]
ALIASES = ("dc1", "dc2")
PATTERN = "rehearsed-.*"
COMMITS = {f"rehearsed-{number}": number for number in (0, 60, 150, 240)}


@pytest.fixture
def installation(clusters: Clusters, spark_environment: None, topic_name: str, tmp_path: Path) -> Installation:
    """Producers wrote at both clusters and mirrors copied; groups have committed at dc1, and all is synced."""
    pair = {alias: clusters[alias] for alias in ALIASES}
    for cluster in pair.values():
        create_topics(cluster, {topic_name: 2})
    producers = Producers(pair, [TopicLoad(topic_name, 2, 200.0)], {})
    mirrors = [Mirror(pair[one], pair[other], [topic_name]) for one, other in itertools.permutations(pair)]
    for mirror in mirrors:
        mirror.start()
    producers.start()
    wait_for_ends(clusters["dc1"], {(topic_name, number): 2 * max(COMMITS.values()) for number in range(2)})
    producers.stop()
    for mirror in mirrors:
        mirror.drain()
        mirror.stop()
    found = install(tmp_path, pair, [topic_name], report={"rehearse": {"groups": [PATTERN]}})
    commit(clusters["dc1"], {group: {(topic_name, n): at for n in range(2)} for group, at in COMMITS.items()})
    assert found.index() == []
    assert found.sync() == []
    return found


def test_what_contents_say_is_what_was_predicted_and_nothing_is_moved(
    clusters: Clusters, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {alias: committed(clusters[alias], [*COMMITS]) for alias in ALIASES}
    words = ("dc1", "dc2", "--groups", PATTERN, "--records", "1000")
    assert cutover(installation, "rehearse", *words) == []
    rows = installation.rows("cutovers", step="rehearse")
    assert {(row["group_id"], row["partition"]) for row in rows} == {(group, n) for group in COMMITS for n in range(2)}
    assert [row["result"] for row in rows] == ["done"] * len(rows)
    assert sum(row["lost"] for row in rows) == 0
    predicted = {
        (row["group_id"], row["partition"]): row["duplicates"]
        for row in installation.translations(source_cluster="dc1", target_cluster="dc2")
    }
    assert {(row["group_id"], row["partition"]): row["duplicates"] for row in rows} == predicted
    assert sum(predicted.values()) > 0, "the logs cross"
    assert {alias: committed(clusters[alias], [*COMMITS]) for alias in ALIASES} == before
    assert "rehearsed-150" in capsys.readouterr().out
    rehearse_as_run_does(installation)
    assert {alias: committed(clusters[alias], [*COMMITS]) for alias in ALIASES} == before


def rehearse_as_run_does(installation: Installation) -> None:
    arguments = add_arguments(job_arguments("cutover")).parse_args(["rehearse", "--conf", "x"])
    config = load_config(installation.config_file)
    known = {row["cutover_id"] for row in installation.rows("cutovers")}
    assert list(cutover_groups(config, arguments, threading.Event())) == []
    rows = [row for row in installation.rows("cutovers") if row["cutover_id"] not in known]
    assert {(row["source_cluster"], row["group_id"]) for row in rows} == {("dc1", group) for group in COMMITS}
    tables = TableStore.of(config)
    assert [(each.target, each.partitions, each.failed) for each in Rehearsals(tables).follow()] == [("dc2", 8, 0)]
