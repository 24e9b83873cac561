"""Both jobs with tables and checkpoints on a disk that is full for a while: nothing is lost, nothing wrong is written.

The disk is a small one of its own; its room comes back without any change to the jobs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import Installation, install, until
from broker.job import Job
from broker.story import Story
from tools.small_disk import SmallDisk, small_disk

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1200)]

GROUP = "full-disk-group"
JOBS = ("index_records", "sync_offsets")
STEP = 20


@dataclass
class Site:
    """An installation on a small disk; the topic is written at dc1 and copied to dc2."""

    story: Story
    disk: SmallDisk
    installation: Installation
    jobs: dict[str, Job]

    def grow(self) -> int:
        """Write as many records more to both logs, commit at dc1 behind the last; return that offset."""
        self.story.write(STEP)
        self.story.commit(GROUP, self.story.count)
        return self.story.count

    def arrives(self, offset: int) -> None:
        self.story.arrives(GROUP, offset, self.jobs["sync_offsets"])


@pytest.fixture(scope="module")
def site(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("full-disk")
    with small_disk(folder / "disk", "64m") as disk, ExitStack() as started:
        for name in ("tables", "checkpoints"):
            (disk.folder / name).mkdir()
            (folder / name).symlink_to(disk.folder / name)
        quickly, story = {"trigger_interval": "500ms"}, Story(clusters, "full-disk").begin()
        made = install(folder, clusters, [story.topic], sync=quickly | {"reconcile_interval": "2s"}, index=quickly)
        yield Site(story, disk, made, {job: started.enter_context(made.started(job)) for job in JOBS})


def test_nothing_is_lost_while_the_disk_is_full_and_all_goes_on_by_itself_when_there_is_room(site: Site) -> None:
    site.arrives(first := site.grow())
    said = {name: len(job.output()) for name, job in site.jobs.items()}
    site.disk.leave(0)
    later = site.grow()
    for name, job in site.jobs.items():
        until(lambda job=job, name=name: "No space left" in job.output()[said[name] :], seconds=300)  # type: ignore[misc]
    time.sleep(3)
    assert site.story.offset(GROUP) in (first, later), "what is written is exact, or nothing is"
    site.disk.clear()
    site.arrives(later)
    site.arrives(site.grow())
    assert [job.process.poll() for job in site.jobs.values()] == [None, None]
    # Spark, Hadoop and Delta say it in their own words; what names the folder and the remedy is ours.
    for name, job in site.jobs.items():
        lines = [line for line in job.output()[said[name] :].splitlines() if "disk is full" in line]
        assert lines, job.output()[-5000:]
        assert re.search(r"/(tables|checkpoints)", lines[0])
    until(lambda: not any(site.story.missing(site.installation.rows("record_runs")).values()))
    rows = site.installation.rows("offset_commits", cluster="dc1", group_id=GROUP)
    assert sorted(row["committed_offset"] for row in rows) == list(range(STEP, site.story.count + 1, STEP)), "each once"
