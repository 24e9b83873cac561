"""Both jobs with tables and checkpoints on a disk that is full for a while: nothing is lost, nothing wrong is written.

The disk is a small one of its own; its room comes back without any change to the jobs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.job import Job
from tools.small_disk import SmallDisk, small_disk

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1200)]

TOPIC, PLACE = "full-disk", ("full-disk", 0)
JOBS = ("index_records", "sync_offsets")
STEP = 20


@dataclass
class Site:
    """An installation on a small disk; the topic is written at dc1 and copied to dc2."""

    clusters: Clusters
    disk: SmallDisk
    installation: Installation
    jobs: dict[str, Job] = field(default_factory=dict)
    length: int = 0

    def grow(self) -> int:
        """Write as many records more to both logs, commit at dc1 behind the last; return that offset."""
        self.length += STEP
        write_log(self.clusters["dc1"], {PLACE: native_log("dc1", self.length)})
        write_log(self.clusters["dc2"], {PLACE: copied_log("dc1", range(self.length))})
        commit(self.clusters["dc1"], {"full-disk-group": {PLACE: self.length}})
        return self.length

    def offset(self) -> int | None:
        """Return what the target's coordinator has."""
        value = committed(self.clusters["dc2"], ["full-disk-group"])["full-disk-group"].get(PLACE)
        return None if value is None else value.offset

    def arrives(self, offset: int) -> None:
        until(lambda: self.offset() == offset, job=self.jobs["sync_offsets"])


@pytest.fixture(scope="module")
def site(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("full-disk")
    with small_disk(folder / "disk", "64m") as disk, ExitStack() as started:
        for alias in ("dc1", "dc2"):
            create_topics(clusters[alias], {TOPIC: 1})
        for name in ("tables", "checkpoints"):
            (disk.folder / name).mkdir()
            (folder / name).symlink_to(disk.folder / name)
        made = install(
            folder,
            clusters,
            [TOPIC],
            sync={"trigger_interval": "500ms", "reconcile_interval": "2s"},
            index={"trigger_interval": "500ms"},
        )
        found = Site(clusters, disk, made)
        found.jobs = {job: started.enter_context(made.started(job)) for job in JOBS}
        yield found


def test_nothing_is_lost_while_the_disk_is_full_and_all_goes_on_by_itself_when_there_is_room(site: Site) -> None:
    site.arrives(first := site.grow())
    said = {name: len(job.output()) for name, job in site.jobs.items()}
    site.disk.leave(0)
    later = site.grow()
    for name, job in site.jobs.items():
        until(lambda job=job, name=name: "No space left" in job.output()[said[name] :], seconds=300)  # type: ignore[misc]
    time.sleep(3)
    assert site.offset() in (first, later), "what is written is exact, or nothing is"
    site.disk.clear()
    site.arrives(later)
    site.arrives(site.grow())
    assert [job.process.poll() for job in site.jobs.values()] == [None, None]
    # Spark, Hadoop and Delta say it in their own words; what names the folder and the remedy is ours.
    for name, job in site.jobs.items():
        lines = [line for line in job.output()[said[name] :].splitlines() if "disk is full" in line]
        assert lines, job.output()[-5000:]
        assert re.search(r"/(tables|checkpoints)", lines[0])
    until(lambda: indexed(site) == dict.fromkeys(range(site.length), 1))
    rows = site.installation.rows("offset_commits", cluster="dc1", topic=TOPIC)
    assert sorted(row["committed_offset"] for row in rows) == list(range(STEP, site.length + 1, STEP)), "each once"


def indexed(site: Site) -> dict[int, int]:
    """Return how often the copy of each record of dc1 is in the index of dc2."""
    found: dict[int, int] = {}
    for row in site.installation.rows("record_runs", cluster="dc2", topic=TOPIC, origin="dc1"):
        for offset in range(row["origin_start"], row["origin_start"] + row["length"]):
            found[offset] = found.get(offset, 0) + 1
    return found
