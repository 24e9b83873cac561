"""All jobs started by one command, with real brokers whose commits are polled: what dies is started again.

The tests of this file share the command's processes and go through their life in order.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.job import Job
from offset_sync.jobs.run import JOBS

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(900),
]

TOPIC, PLACE = "polled", ("polled", 0)
SHIFT, COUNT = 3, 100
BOTH = ("dc1", "dc2")


@dataclass(frozen=True)
class Running:
    """dc1 has produced records, which dc2 has behind aborted ones, three offsets higher."""

    clusters: Clusters
    installation: Installation
    job: Job

    def commit(self, group: str, offset: int, alias: str = "dc1") -> None:
        """Commit an offset of dc1."""
        commit(self.clusters[alias], {group: {PLACE: offset + (SHIFT if alias == "dc2" else 0)}})

    def offset(self, group: str, alias: str = "dc2") -> int | None:
        """Return what *group* has, as an offset of dc1."""
        value = committed(self.clusters[alias], [group])[group].get(PLACE)
        return None if value is None else value.offset - (SHIFT if alias == "dc2" else 0)

    def arrives(self, group: str, offset: int, alias: str = "dc2") -> None:
        """Return once the group has it there."""
        until(lambda: self.offset(group, alias) == offset, job=self.job)


@pytest.fixture(scope="module")
def running(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    for alias in BOTH:
        create_topics(clusters[alias], {TOPIC: 1})
    stamp = Stamp(since_ms=int(time.time() * 1000) - 60_000)
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)}, stamp)
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), SHIFT)]}, stamp)
    commit(clusters["dc1"], {"polled-before": {PLACE: 10}})
    folder = tmp_path_factory.mktemp("polled")
    installation = install(
        folder,
        clusters,
        [TOPIC],
        polled=BOTH,
        status={"interval": "5s", "page": str(folder / "status.html")},
        sync={"poll_interval": "1s", "reconcile_interval": "2s", "home_silence": "5s"},
        groups={"include": ["polled-.*"]},
    )
    (folder / "tables").mkdir()  # all jobs find no tables, and one of them makes them
    with installation.started("run") as job:
        yield Running(clusters, installation, job)


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
        running.commit("polled-after", offset)
        running.arrives("polled-after", offset)
    wanted = {"cluster": "dc2", "group_id": "polled-after", "committed_offset": 15 + SHIFT}
    rows = until(lambda: running.installation.rows("offset_commits", **wanted))
    assert {(row["is_own"], row["captured_by"], row["log_partition"]) for row in rows} == {(True, "admin", -2)}
    until(lambda: (running.installation.folder / "status.html").exists(), job=running.job)


def test_a_reader_at_each_side_is_moved_at_neither(running: Running) -> None:
    running.commit("polled-both", 30)
    running.arrives("polled-both", 30)
    running.commit("polled-both", 31)
    running.commit("polled-both", 57, "dc2")
    until(lambda: running.installation.translations(group_id="polled-both", state="COMMITTED_AT_BOTH"))
    assert (running.offset("polled-both", "dc1"), running.offset("polled-both")) == (31, 57)


def test_what_is_committed_while_the_target_is_away_arrives_when_it_is_back(running: Running) -> None:
    running.clusters["dc2"].kill()
    running.commit("polled-outage", 65)
    until(lambda: running.installation.translations(group_id="polled-outage", outcome="FAILED"), job=running.job)
    running.clusters["dc2"].start()
    running.arrives("polled-outage", 65)


def test_a_job_that_dies_is_started_again_and_what_was_committed_meanwhile_arrives(running: Running) -> None:
    def all_jobs() -> dict[str, int]:
        found = processes(running.job.process.pid)
        return found if {*found} == {*JOBS} else {}

    before = until(all_jobs, job=running.job)
    os.kill(before["sync_offsets"], signal.SIGKILL)
    running.commit("polled-after", 25)
    running.arrives("polled-after", 25)
    after = until(all_jobs, job=running.job)
    assert [name for name in JOBS[:2] if before[name] != after[name]] == ["sync_offsets"]
    lines = running.job.output().splitlines()
    assert {line.split()[0] for line in lines if line.split()[0] in JOBS} == {*JOBS}
    assert any("sync_offsets was killed by SIGKILL: restarting it in 1 s" in line for line in lines)


def test_the_jobs_end_with_the_one_that_has_started_them(running: Running) -> None:
    numbers = processes(running.job.process.pid).values()
    running.job.process.kill()
    until(lambda: not any(Path(f"/proc/{number}/cmdline").exists() for number in numbers), 60)
