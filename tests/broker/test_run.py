"""All jobs started by one command, with real brokers: what dies is started again, and all end together."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, crafted_logs, create_topics, write_log
from broker.installation import Installation, install, until
from broker.job import Job
from generators.mirrored_logs import World
from offset_sync.jobs.run import JOBS

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(400)]
ALIASES = ("dc1", "dc2")
WORLD = World(ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 60)


@pytest.fixture
def running(
    clusters: Clusters, spark_environment: None, topic_name: str, tmp_path: Path
) -> Iterator[tuple[Installation, Job]]:
    pair = {alias: clusters[alias] for alias in ALIASES}
    logs = crafted_logs(WORLD, 7)
    for alias, cluster in pair.items():
        create_topics(cluster, {topic_name: 1})
        write_log(cluster, {(topic_name, 0): logs[alias]})
    installation = install(
        tmp_path,
        {alias: cluster.bootstrap_servers for alias, cluster in pair.items()},
        [topic_name],
        status={"interval": "2s", "page": str(tmp_path / "status.html")},
        sync={"trigger_interval": "500ms", "reconcile_interval": "2s"},
    )
    with installation.started("run") as job:
        yield installation, job


def processes(parent: int) -> dict[str, int]:
    """Return the process ids of the jobs below *parent*, by name."""
    told = subprocess.run(
        ["ps", "--ppid", str(parent), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    found = re.findall(r"^ *(\d+) .*?/jobs/(\w+)\.py", told.stdout, re.MULTILINE)
    return {name: int(number) for number, name in found}


def test_one_command_runs_all_and_starts_again_what_dies(
    clusters: Clusters, running: tuple[Installation, Job], topic_name: str, group_name: str
) -> None:
    installation, job = running
    commit(clusters["dc1"], {group_name: {(topic_name, 0): 10}})
    until(lambda: installation.translations(group_id=group_name, outcome="COMMITTED"), 120, job)
    until(lambda: (installation.folder / "status.html").exists(), 60, job)
    before = processes(job.process.pid)
    assert {*before} == {*JOBS}
    os.kill(before["sync_offsets"], signal.SIGKILL)
    commit(clusters["dc1"], {group_name: {(topic_name, 0): 30}})
    until(lambda: len(installation.translations(group_id=group_name, outcome="COMMITTED")) > 1, 120, job)
    after = processes(job.process.pid)
    assert [name for name in JOBS if before[name] != after[name]] == ["sync_offsets"]
    held = committed(clusters["dc2"], [group_name])[group_name][(topic_name, 0)].offset
    assert held == installation.last_translation(group_name)["target_offset"]
    job.process.send_signal(signal.SIGTERM)
    assert job.process.wait(100) == 0
    lines = job.output().splitlines()
    assert {line.split()[0] for line in lines if line.split()[0] in JOBS} == {*JOBS}
    assert any("sync_offsets was killed by SIGKILL: restarting it in 1 s" in line for line in lines)


def test_the_jobs_end_with_the_one_that_has_started_them(running: tuple[Installation, Job]) -> None:
    _, job = running
    until(lambda: processes(job.process.pid).keys() == {*JOBS}, 60, job)
    numbers = processes(job.process.pid).values()
    job.process.kill()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{number}/cmdline").exists() for number in numbers):
        assert time.monotonic() < deadline
        time.sleep(0.2)
