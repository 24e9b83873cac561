"""All jobs started by one command, with real brokers whose commits are polled: what dies is started again.

The tests of this file share the command's processes and go through their life in order.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import Installation, install, until
from broker.job import Job
from broker.story import SHIFT, Story
from offset_sync.jobs.run import JOBS

pytestmark = [pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Running:
    """The story of a topic, and the command that runs all jobs."""

    story: Story
    installation: Installation
    job: Job

    def arrives(self, group: str, offset: int) -> None:
        until(lambda: self.story.offset(group) == offset, job=self.job)


@pytest.fixture(scope="module")
def running(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    story, folder = Story(clusters, "polled").begin(), tmp_path_factory.mktemp("polled")
    story.write(100)
    story.commit("polled-before", 10)
    installation = install(
        folder,
        clusters,
        [story.topic],
        {alias: {"commits": "admin"} for alias in clusters},
        status={"interval": "5s", "page": str(folder / "status.html")},
        sync={"poll_interval": "1s", "reconcile_interval": "2s", "home_silence": "5s"},
        groups={"include": ["polled-.*"]},
    )
    (folder / "tables").mkdir()  # all jobs find no tables, and one of them makes them
    with installation.started("run") as job:
        yield Running(story, installation, job)


def processes(parent: int) -> dict[str, int]:
    """Return the process ids of the jobs below *parent*, by name."""
    told = subprocess.run(
        ["ps", "-ww", "--ppid", str(parent), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^ *(\d+) .*?/jobs/(\w+)\.py", told.stdout, re.MULTILINE)
    return {name: int(number) for number, name in found}


def test_commits_before_and_after_the_start_arrive_and_a_rewind(running: Running) -> None:
    running.arrives("polled-before", 10)
    for offset in (20, 15):
        running.story.commit("polled-after", offset)
        running.arrives("polled-after", offset)
    wanted = {"cluster": "dc2", "group_id": "polled-after", "committed_offset": 15 + SHIFT}
    rows = until(lambda: running.installation.rows("offset_commits", **wanted))
    assert {(row["is_own"], row["captured_by"], row["log_partition"]) for row in rows} == {(True, "admin", -2)}
    until(lambda: (running.installation.folder / "status.html").exists(), job=running.job)


def test_what_is_committed_while_the_target_is_away_arrives_when_it_is_back(running: Running) -> None:
    running.story.clusters["dc2"].kill()
    running.story.commit("polled-outage", 65)
    until(lambda: running.installation.translations(group_id="polled-outage", outcome="FAILED"), job=running.job)
    running.story.clusters["dc2"].start()
    running.arrives("polled-outage", 65)


def test_a_job_that_dies_is_started_again_and_what_was_committed_meanwhile_arrives(running: Running) -> None:
    def all_jobs() -> dict[str, int]:
        found = processes(running.job.process.pid)
        return found if {*found} == {*JOBS} else {}

    before = until(all_jobs, job=running.job)
    os.kill(before["sync_offsets"], signal.SIGKILL)
    running.story.commit("polled-after", 25)
    running.arrives("polled-after", 25)
    after = until(all_jobs, job=running.job)
    assert [name for name in JOBS[:2] if before[name] != after[name]] == ["sync_offsets"]
    lines = running.job.output().splitlines()
    assert {*JOBS} <= {line.partition(" ")[0] for line in lines}
    assert any("sync_offsets was killed by SIGKILL: restarting it in 1 s" in line for line in lines)


def test_the_jobs_end_with_the_one_that_has_started_them(running: Running) -> None:
    numbers = processes(running.job.process.pid).values()
    running.job.process.kill()
    until(lambda: not any(Path(f"/proc/{number}/cmdline").exists() for number in numbers), 60)
