"""More than one ``sync_offsets`` on one installation: started, paused, woken, rehearsed and killed beside each other.

The tests of this file go through the life of one installation in order, from driver to driver.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from pyspark.sql import SparkSession

from broker.committed_offsets import commits_recorded
from broker.crafted_logs import Clusters
from broker.installation import Installation, install, until
from broker.job import Job
from broker.story import Story
from offset_sync.ingest.query_supervisor import QuerySupervisor, has_caught_up
from offset_sync.model.errors import ConfigError

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1200)]

TAKEN_OVER = 3


@dataclass
class Stage:
    """The story, its installation, and the drivers that were started one after the other."""

    story: Story
    installation: Installation
    jobs: ExitStack
    drivers: list[Job] = field(default_factory=list)

    def start(self) -> Job:
        """Start one driver more."""
        name = f"sync_offsets-{len(self.drivers)}"
        self.drivers.append(self.jobs.enter_context(self.installation.started("sync_offsets", log_name=name)))
        return self.drivers[-1]

    def epochs(self) -> list[tuple[int, bool]]:
        """Return each driver's epoch, and whether it has ended. A slow driver has several rows: it claims again."""
        rows = self.installation.rows("drivers", job="sync_offsets")
        return sorted({(row["epoch"], row["ended_at"] is not None) for row in rows})


@pytest.fixture(scope="module")
def stage(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    story = Story(clusters, "drivers").begin()
    story.write(200)
    installation = install(
        tmp_path_factory.mktemp("drivers"), clusters, [story.topic], sync={"reconcile_interval": "2s"}
    )
    assert installation.index() == []
    with ExitStack() as jobs:
        yield Stage(story, installation, jobs)


def lines(job: Job) -> list[str]:
    """Return what a job has said but for what Python and the JVM log as information."""
    return [line for line in job.output().splitlines() if line and " INFO " not in line and "WARN" not in line]


def test_a_dry_run_beside_the_running_driver_is_refused_and_takes_nothing_from_it(stage: Stage) -> None:
    driver = stage.start()
    stage.story.commit("drivers-a", 10)
    stage.story.arrives("drivers-a", 10, driver)
    stage.story.commit("drivers-b", 20)
    with pytest.raises(ConfigError, match=f"--dry-run: process {driver.process.pid} .*runs sync_offsets"):
        stage.installation.sync(dry_run=True)
    assert stage.epochs() == [(1, False)]
    stage.story.commit("drivers-c", 30)
    stage.story.arrives("drivers-b", 20, driver)
    stage.story.arrives("drivers-c", 30, driver)
    rows = stage.installation.rows("offset_commits")
    assert {*Counter((row["cluster"], row["log_partition"], row["log_offset"]) for row in rows).values()} == {1}


def test_a_driver_ends_with_3_that_another_has_followed_and_a_paused_one_that_wakes_writes_nothing(
    stage: Stage,
) -> None:
    first = stage.drivers[0]
    os.killpg(first.process.pid, signal.SIGSTOP)  # it holds nothing that another one waits for
    second = stage.start()
    until(lambda: (2, False) in stage.epochs(), job=second)
    stage.story.commit("drivers-a", 5)  # reset: what the paused one believes is ahead now
    stage.story.commit("drivers-d", 60)
    until(lambda: stage.story.offset("drivers-a") == 5, job=second)
    stage.story.arrives("drivers-d", 60, second)
    before = commits_recorded(stage.story.clusters["dc2"], stage.story.topic)
    os.killpg(first.process.pid, signal.SIGCONT)
    first.wait()
    assert first.exit_code == TAKEN_OVER
    assert f"sync_offsets was taken over by process {second.process.pid} on " in lines(first)[-1]
    assert "Traceback" not in first.output()
    assert (stage.story.offset("drivers-a"), stage.story.offset("drivers-d")) == (5, 60)
    assert commits_recorded(stage.story.clusters["dc2"], stage.story.topic) == before
    stage.story.commit("drivers-d", 70)
    stage.story.arrives("drivers-d", 70, second)
    second.terminate()
    assert second.exit_code == 0
    assert stage.epochs() == [(1, False), (2, False), (2, True)]


def test_a_micro_batch_that_was_planned_before_the_start_is_not_the_end_of_the_log(
    stage: Stage, tmp_path: Path
) -> None:
    spark, queries, found = SparkSession.active(), QuerySupervisor(threading.Event()), list[bool]()
    servers = stage.story.clusters["dc1"].bootstrap_servers
    options = {"kafka.bootstrap.servers": servers, "subscribe": stage.story.topic, "startingOffsets": "earliest"}
    records = spark.readStream.format("kafka").options(**options).load()
    start = partial(queries.stream, "planned dc1", records, str(tmp_path), interval=timedelta(seconds=0.1))
    planned = start(function=MagicMock(side_effect=RuntimeError))
    until(lambda: not planned.isActive)
    stage.story.write(10)
    query = start(function=lambda *_: found.append(has_caught_up(spark.streams.active[0])))
    until(lambda: has_caught_up(query))
    query.stop()
    assert found == [False, False], "as the planned micro-batch and the next one are processed"
