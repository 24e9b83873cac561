"""Both jobs as they run for days, started at the same time: what appears, moves or fails meanwhile, and their end.

The tests of this file share two processes and go through their life in order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import NewPartitions

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, Job, Row, install, until
from offset_sync_demo.kafka.clients import admin_of
from tools.prometheus_expressions import series
from tools.prometheus_scrape import Scrape, fetch

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1200)]

FIRST, LATE, GROWING = "running-first", "running-late", "running-growing"
PLACE: Partition = (FIRST, 0)
FORWARD = {"source": "dc1", "target": "dc2"}
SHIFT, COUNT = 3, 200


@dataclass(frozen=True)
class Running:
    """The clusters and the two processes."""

    clusters: Clusters
    installation: Installation
    index: Job
    sync: Job

    def offset(self, alias: str, group: str, place: Partition = PLACE) -> int | None:
        """Return what a group has on a cluster now."""
        value = committed(self.clusters[alias], [group])[group].get(place)
        return None if value is None else value.offset

    def arrives(self, group: str, offset: int, place: Partition = PLACE, alias: str = "dc2") -> None:
        """Return once the group has *offset* there."""
        until(lambda: self.offset(alias, group, place) == offset, job=self.sync)

    def scrape(self) -> Scrape:
        """Return what the metrics say now."""
        (port,) = re.findall(r"metrics: http://127\.0\.0\.1:(\d+)/metrics", self.sync.output())
        return fetch(int(port))

    def said(self, group: str, outcome: str) -> list[Row]:
        """Return the rows about a group with an outcome."""
        return self.installation.translations(group_id=group, outcome=outcome)


@pytest.fixture(scope="module")
def running(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    fill(clusters, {FIRST: 1, GROWING: 1})
    commit(clusters["dc1"], {"running-before": {PLACE: 10}})
    installation = install(
        tmp_path_factory.mktemp("running"),
        {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")},
        ["running-.*"],
        sync={"trigger_interval": "500ms", "reconcile_interval": "2s", "commit_timeout": "5s"},
        index={"trigger_interval": "500ms"},
        metrics={"address": "127.0.0.1", "sync_offsets_port": 0},
    )
    (installation.folder / "tables").mkdir()  # both find no tables, and make them
    with ExitStack() as jobs:
        index, sync = (jobs.enter_context(installation.started(job)) for job in ("index_records", "sync_offsets"))
        yield Running(clusters, installation, index, sync)


def fill(clusters: Clusters, partitions: dict[str, int]) -> None:
    """Create topics, with records of dc1 in the last partition of each, which dc2 holds behind aborted ones."""
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], partitions)
    fill_last(clusters, partitions)


def fill_last(clusters: Clusters, partitions: dict[str, int]) -> None:
    copies = [*[None] * SHIFT, *copied_log("dc1", range(COUNT), first=SHIFT)]
    write_log(clusters["dc1"], {(topic, count - 1): native_log("dc1", COUNT) for topic, count in partitions.items()})
    write_log(clusters["dc2"], {(topic, count - 1): copies for topic, count in partitions.items()})


def test_what_was_committed_before_the_start_and_while_it_runs_arrives(running: Running) -> None:
    running.arrives("running-before", 10 + SHIFT)
    commit(running.clusters["dc1"], {"running-now": {PLACE: 42}})
    running.arrives("running-now", 42 + SHIFT)
    until(lambda: running.said("running-now", "COMMITTED"), job=running.sync)


def test_the_metrics_say_what_was_committed_and_that_all_is_well(running: Running) -> None:
    def is_reconciled(scraped: Scrape) -> bool:
        arrived = scraped.positive("positions", "outcome", **FORWARD).keys() <= {"COMMITTED", "UNCHANGED"}
        # What we wrote is counted as ours when it is read back, a moment after the metrics say that it was committed.
        is_read_back = scraped.value("records_total", cluster="dc2", kind="own") >= 2
        return arrived and is_read_back and scraped.value("index_behind_records", cluster="dc2") == 0

    until(lambda: is_reconciled(running.scrape()), job=running.sync)
    scraped = running.scrape()
    assert sum(scraped.values("positions", "outcome", **FORWARD).values()) == 2
    assert scraped.value("outcomes_total", outcome="COMMITTED", **FORWARD) >= 2
    assert scraped.value("commit_latency_seconds_count", **FORWARD) == 2
    assert scraped.positive("staleness_seconds", "outcome", **FORWARD) == {}
    assert (scraped.value("ready"), scraped.value("history_up")) == (1, 1)
    assert scraped.values("cluster_up", "cluster") == scraped.values("query_up", "cluster") == {"dc1": 1, "dc2": 1}
    assert scraped.value("records_total", cluster="dc1", kind="genuine") >= 2
    assert scraped.value("index_offsets", cluster="dc1") >= COUNT
    assert scraped.value("reconcile_age_seconds") < 60
    assert scraped.labels().keys() <= series().keys()


def test_a_topic_and_a_partition_that_appear_are_indexed_and_synced(running: Running) -> None:
    fill(running.clusters, {LATE: 2})
    for alias in ("dc1", "dc2"):
        admin = admin_of(running.clusters[alias])  # held until the answer is there
        admin.create_partitions([NewPartitions(GROWING, 2)])[GROWING].result(120)
    fill_last(running.clusters, {GROWING: 2})
    offsets: dict[Partition, int | tuple[int, str]] = {(LATE, 1): 5, (LATE, 0): 0, (GROWING, 1): 7}
    commit(running.clusters["dc1"], {"running-late": offsets})
    for place, offset in (((LATE, 1), 5 + SHIFT), ((LATE, 0), 0), ((GROWING, 1), 7 + SHIFT)):
        running.arrives("running-late", offset, place)


def test_our_commits_are_known_as_ours_however_fast_they_come(running: Running) -> None:
    groups = [f"running-noted-{number}" for number in range(100)]
    for offset in range(40, 60):
        commit(running.clusters["dc1"], {group: {PLACE: (offset, f"m{offset}")} for group in groups})
        time.sleep(0.05)
    for group in (groups[0], groups[-1]):
        running.arrives(group, 59 + SHIFT)

    def read_back() -> list[Row]:
        rows = running.installation.rows("offset_commits", cluster="dc2", committed_offset=59 + SHIFT)
        return [row for row in rows if row["group_id"] in groups]

    until(lambda: len({row["group_id"] for row in read_back()}) == len(groups), job=running.sync)
    rows = running.installation.rows("offset_commits", cluster="dc2", topic=FIRST)
    foreign = [(row["group_id"], row["committed_offset"]) for row in rows if not row["is_own"]]
    assert foreign == []
    assert running.installation.translations(source_cluster="dc2", topic=FIRST) == []


def test_what_is_committed_while_the_target_is_away_arrives_when_it_is_back(running: Running) -> None:
    running.clusters["dc2"].kill()
    commit(running.clusters["dc1"], {"running-outage": {PLACE: 70}})
    until(lambda: running.said("running-outage", "FAILED"), job=running.sync)
    until(lambda: running.scrape().value("cluster_up", cluster="dc2") == 0, job=running.sync)
    assert running.scrape().value("staleness_seconds", outcome="FAILED", **FORWARD) > 0
    assert "running-outage" in running.scrape().values("group_staleness_seconds", "group_id", **FORWARD)
    running.clusters["dc2"].start()
    running.arrives("running-outage", 70 + SHIFT)
    commit(running.clusters["dc2"], {"running-outage": {PLACE: 90}})
    running.arrives("running-outage", 90 - SHIFT, alias="dc1")
    more = [*[None] * SHIFT, *copied_log("dc1", range(COUNT + 10), first=SHIFT)]
    write_log(running.clusters["dc1"], {PLACE: native_log("dc1", COUNT + 10)})
    write_log(running.clusters["dc2"], {PLACE: more})
    commit(running.clusters["dc1"], {"running-end": {PLACE: COUNT + 5}})
    running.arrives("running-end", COUNT + 5 + SHIFT)


def test_sigterm_ends_both_jobs_with_exit_code_0(running: Running) -> None:
    for job in (running.sync, running.index):
        job.terminate()
        assert job.exit_code == 0, job.output()[-3000:]
