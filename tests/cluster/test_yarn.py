"""The jobs on YARN with tables on HDFS: one driver at home, one in the cluster, and a node of theirs that is gone.

The tests of this file go through the life of one installation in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from broker.crafted_logs import Clusters
from broker.installation import Job, install, until
from broker.story import Story
from cluster.hadoop import Hadoop
from cluster.on_yarn import DRIVER, EXECUTOR, Applications, places_on, pythons, yarn_options
from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1800)]

BATCH = DRIVER_MAX_RECORDS + 1000
"""So many records are for the executors, not for the driver alone."""


@dataclass
class Stage:
    """The cluster, its applications, and what runs of them."""

    story: Story
    hadoop: Hadoop
    applications: Applications
    jobs: ExitStack
    index: Job | None = None
    sync_id: str = ""

    def start_index(self) -> Job:
        """Start index_records with its driver here."""
        options = yarn_options("client", 2)
        self.index = self.jobs.enter_context(self.applications.installation.started("index_records", *options))
        return self.index

    @property
    def index_id(self) -> str:
        """Return the application of index_records."""
        return str(self.applications.newest("index_records").get("id", ""))

    def missing(self) -> int:
        """Return how many records are not in the index yet, at both clusters together."""
        return sum(map(len, self.story.missing(self.applications.rows("record_runs")).values()))


@pytest.fixture(scope="module")
def stage(clusters: Clusters, yarn: Hadoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    story = Story(clusters, "on-yarn").begin()
    story.write(3 * BATCH)
    story.commit("on-yarn-before", 10)
    folder = tmp_path_factory.mktemp("on-yarn")
    installation = install(
        folder,
        story.servers,
        [story.topic],
        tables=places_on(yarn, folder),
        sync={"trigger_interval": "500ms", "reconcile_interval": "2s"},
        # One micro-batch after the other: what is killed is killed within one.
        index={"trigger_interval": "0s", "max_offsets_per_trigger": BATCH},
    )
    with ExitStack() as jobs, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", str(yarn.settings))
        stage = Stage(story, yarn, Applications(yarn, installation), jobs)
        stage.start_index()
        yield stage


def test_executors_of_a_driver_at_home_index_with_the_python_of_the_archive(stage: Stage) -> None:
    until(lambda: stage.missing() == 0, job=stage.index)
    until(lambda: len(stage.applications.containers(EXECUTOR, stage.index_id)) == 2, job=stage.index)
    assert pythons(stage.hadoop) == {("./environment/bin/python", True)}


def test_a_driver_in_the_cluster_syncs(stage: Stage) -> None:
    stage.sync_id = stage.applications.submit("sync_offsets")
    until(lambda: stage.applications.runs("sync_offsets") and stage.story.offset("on-yarn-before"))
    stage.story.arrives("on-yarn-before", 10)
    assert len(stage.applications.containers(DRIVER, stage.sync_id)) == 1


def test_of_a_node_that_is_gone_with_a_driver_nothing_is_lost_and_nothing_comes_twice(stage: Stage) -> None:
    ((node, _),) = stage.applications.containers(DRIVER, stage.sync_id)
    stage.story.write(2 * BATCH)
    node.kill_with_all_below()
    stage.story.commit("on-yarn-gone", 4 * BATCH)
    until(lambda: stage.applications.attempts(stage.sync_id) == 2, seconds=180)
    # Where its application master was on that node a driver at home ends, and is started again as systemd does it.
    if stage.index is not None and stage.index.process.poll() is not None:
        stage.start_index()
    until(lambda: stage.missing() == 0, job=stage.index)
    stage.story.arrives("on-yarn-gone", 4 * BATCH)
    commits = [row for row in stage.applications.rows("offset_commits") if row["cluster"] == "dc1"]
    mine = [row for row in commits if row["group_id"].startswith("on-yarn")]
    assert sorted((row["group_id"], row["committed_offset"]) for row in mine) == [
        ("on-yarn-before", 10),
        ("on-yarn-gone", 4 * BATCH),
    ]
