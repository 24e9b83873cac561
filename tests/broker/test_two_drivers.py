"""More than one ``sync_offsets`` on one installation: started, paused, woken, rehearsed and killed beside each other.

The tests of this file go through the life of one installation in order, from driver to driver.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from broker.committed_offsets import Partition, commit, commits_recorded, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, Job, install, until

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1500)]

TOPIC = "drivers"
PLACE: Partition = (TOPIC, 0)
SHIFT, COUNT = 3, 200
TAKEN_OVER = 3


@dataclass
class Stage:
    """The clusters, the installation, and the drivers that were started one after the other."""

    clusters: Clusters
    installation: Installation
    jobs: ExitStack
    drivers: list[Job] = field(default_factory=list)

    def start(self) -> Job:
        """Start one driver more."""
        name = f"sync_offsets-{len(self.drivers)}"
        self.drivers.append(self.jobs.enter_context(self.installation.started("sync_offsets", log_name=name)))
        return self.drivers[-1]

    def commit(self, group: str, offset: int) -> None:
        """Let a group commit at dc1."""
        commit(self.clusters["dc1"], {group: {PLACE: offset}})

    def offset(self, group: str) -> int | None:
        """Return what a group has at dc2 now."""
        value = committed(self.clusters["dc2"], [group])[group].get(PLACE)
        return None if value is None else value.offset

    def arrives(self, group: str, offset: int, job: Job) -> None:
        """Return once the group's *offset* at dc1 is translated at dc2."""
        until(lambda: self.offset(group) == offset + SHIFT, job=job)

    def pause(self, job: Job) -> None:
        """Stop a driver's processes, wherever they are: they hold nothing that another one waits for."""
        os.killpg(job.process.pid, signal.SIGSTOP)

    def epochs(self) -> list[tuple[int, bool]]:
        """Return the rows of the table of drivers: epoch, and whether it says that the driver has ended."""
        rows = self.installation.rows("drivers", job="sync_offsets")
        return sorted((row["epoch"], row["ended_at"] is not None) for row in rows)


@pytest.fixture(scope="module")
def stage(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)})
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), first=SHIFT)]})
    installation = install(
        tmp_path_factory.mktemp("drivers"),
        {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")},
        [TOPIC],
        sync={"trigger_interval": "500ms", "reconcile_interval": "2s"},
    )
    assert installation.index() == []
    with ExitStack() as jobs:
        yield Stage(clusters, installation, jobs)


def seconds_until_end(job: Job) -> float:
    began = time.monotonic()
    job.wait()
    return time.monotonic() - began


def lines(job: Job, *without: str) -> list[str]:
    """Return what a job has said but for what Python and the JVM log as information."""
    said = [line for line in job.output().splitlines() if line and " INFO " not in line]
    return [line for line in said if not any(word in line for word in ("WARN", *without))]


def test_a_dry_run_beside_the_running_driver_takes_nothing_from_it(stage: Stage) -> None:
    driver = stage.start()
    stage.commit("drivers-a", 10)
    stage.arrives("drivers-a", 10, driver)
    stage.commit("drivers-b", 20)
    rehearsal = stage.installation.run("sync_offsets", "--once", "--dry-run")
    assert rehearsal.exit_code == 0, rehearsal.output()[-3000:]
    assert stage.epochs() == [(1, False)]
    stage.commit("drivers-c", 30)
    stage.arrives("drivers-b", 20, driver)
    stage.arrives("drivers-c", 30, driver)
    assert "another driver took in" not in driver.output()
    assert "CONCURRENT_STREAM_LOG_UPDATE" not in driver.output()
    seen = Counter(
        (row["cluster"], row["log_partition"], row["log_offset"]) for row in stage.installation.rows("offset_commits")
    )
    assert set(seen.values()) == {1}


def test_the_driver_before_ends_with_3_and_says_who_has_taken_over_and_the_new_one_goes_on(stage: Stage) -> None:
    first, second = stage.drivers[0], stage.start()
    until(lambda: (2, False) in stage.epochs(), job=second)
    assert seconds_until_end(first) < 10
    assert first.exit_code == TAKEN_OVER
    assert f"sync_offsets was taken over by process {second.process.pid} on " in lines(first)[-1]
    assert "Traceback" not in first.output()
    stage.commit("drivers-a", 40)
    stage.arrives("drivers-a", 40, second)
    assert stage.offset("drivers-b") == 20 + SHIFT
    assert stage.epochs() == [(1, False), (2, False)]


def test_a_paused_driver_that_wakes_writes_nothing(stage: Stage) -> None:
    second = stage.drivers[1]
    stage.commit("drivers-a", 100)
    stage.arrives("drivers-a", 100, second)
    stage.pause(second)
    third = stage.start()
    until(lambda: (3, False) in stage.epochs(), job=third)
    stage.commit("drivers-a", 50)  # reset: what the paused one believes is ahead now
    stage.commit("drivers-d", 60)
    stage.arrives("drivers-a", 50, third)
    stage.arrives("drivers-d", 60, third)
    before = commits_recorded(stage.clusters["dc2"], TOPIC)
    os.killpg(second.process.pid, signal.SIGCONT)
    assert seconds_until_end(second) < 20
    assert second.exit_code == TAKEN_OVER
    time.sleep(3)
    assert (stage.offset("drivers-a"), stage.offset("drivers-d")) == (50 + SHIFT, 60 + SHIFT)
    assert commits_recorded(stage.clusters["dc2"], TOPIC) == before
    stage.commit("drivers-d", 70)
    stage.arrives("drivers-d", 70, third)


def test_a_jvm_that_is_killed_takes_the_job_down_with_1_and_a_line(stage: Stage) -> None:
    third = stage.drivers[2]
    children = subprocess.run(["pgrep", "-P", str(third.process.pid)], capture_output=True, text=True, check=True)
    (jvm,) = map(int, children.stdout.split())
    os.kill(jvm, signal.SIGKILL)
    assert seconds_until_end(third) < 10
    assert third.exit_code == 1
    assert lines(third)[-1].startswith("the JVM was killed by signal 9, so this job ends")
    assert "Traceback" not in third.output()


def test_a_driver_that_follows_a_crash_begins_at_once_and_a_signal_to_its_whole_group_is_a_stop(stage: Stage) -> None:
    stage.commit("drivers-d", 80)
    fourth = stage.start()
    stage.arrives("drivers-d", 80, fourth)
    os.killpg(fourth.process.pid, signal.SIGTERM)
    assert seconds_until_end(fourth) < 60
    assert fourth.exit_code == 0
    assert "Traceback" not in fourth.output()
    assert stage.epochs()[-2:] == [(4, False), (4, True)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_spark_starts_is_heard_within_5_s(stage: Stage, number: signal.Signals) -> None:
    starting = stage.start()
    until(lambda: "starting Spark" in starting.output(), job=starting)
    os.killpg(starting.process.pid, number)
    assert seconds_until_end(starting) < 5
    assert starting.exit_code == 0
    assert "Traceback" not in starting.output()
