"""The jobs on YARN with tables on HDFS: one driver at home, one in the cluster, each with the libraries of the archive.

The tests of this file go through the life of one installation in order.
"""

from __future__ import annotations

from collections.abc import Iterator
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


@dataclass(frozen=True)
class Stage:
    """The cluster, its applications, and the driver of index_records."""

    story: Story
    hadoop: Hadoop
    applications: Applications
    index: Job

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
        index={"trigger_interval": "0s", "max_offsets_per_trigger": BATCH},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", str(yarn.settings))
        with installation.started("index_records", *yarn_options("client", 2)) as index:  # its driver is here
            yield Stage(story, yarn, Applications(yarn, installation), index)


def test_executors_of_a_driver_at_home_index_with_the_python_of_the_archive(stage: Stage) -> None:
    until(lambda: stage.missing() == 0, job=stage.index)
    until(lambda: len(stage.applications.containers(EXECUTOR, stage.index_id)) == 2, job=stage.index)
    assert pythons(stage.hadoop) == {("./environment/bin/python", True)}


def test_a_driver_in_the_cluster_syncs(stage: Stage) -> None:
    identity = stage.applications.submit("sync_offsets")
    until(lambda: stage.applications.runs("sync_offsets") and stage.story.offset("on-yarn-before"))
    stage.story.arrives("on-yarn-before", 10)
    assert len(stage.applications.containers(DRIVER, identity)) == 1
