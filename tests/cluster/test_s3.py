"""Several drivers that write on S3 at once: what is promised without a lock table, and what is refused."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters
from broker.installation import Installation, install, until
from cluster.on_s3 import read_sealed, rows_of, start_writer
from cluster.s3_server import BUCKET, S3Server
from cluster.story import SHIFT, Story, run

pytestmark = pytest.mark.timeout(1200)

COUNT = 20


def test_of_commits_at_the_same_moment_none_is_lost(s3: S3Server, tmp_path: Path) -> None:
    s3.let_puts_take(0.15)  # between its look and its put each driver waits, as for a server far away
    writers = [start_writer(s3, tmp_path, name, COUNT) for name in ("one", "other")]
    for writer in writers:
        writer.wait()
        assert writer.exit_code == 0, writer.output()[-3000:]
    s3.let_puts_take(0)
    rows = Counter(row["topic"] for row in rows_of(s3, tmp_path, "quarantine"))
    assert rows == {f"{name}-{number}": 1 for name in ("one", "other") for number in range(COUNT)}
    entries = [put for put in s3.entries if f"/{tmp_path.name}/" in put.key]
    assert all(put.is_conditional for put in entries)
    assert Counter(put.key for put in entries if put.status == 200) == {put.key: 1 for put in entries}
    # They have met: else nothing was tried here.
    assert sum(put.status == 412 for put in entries) > 0


def test_pages_are_read_from_sealed_files_until_the_process_ends(s3: S3Server, tmp_path: Path) -> None:
    job = read_sealed(f"s3a://{BUCKET}/{tmp_path.name}", s3.storage, tmp_path)
    job.wait()
    assert (job.exit_code, job.output().splitlines()[-1]) == (0, "ends"), job.output()[-3000:]
    assert job.output().count("160 rows sealed, 10 pages, 40 runs in memory") == 2, job.output()[-3000:]


def test_a_driver_that_could_overwrite_what_another_enters_does_not_start(s3: S3Server, tmp_path: Path) -> None:
    with s3.without_conditions():
        writer = start_writer(s3, tmp_path, "careless", 1)
        writer.wait()
    assert writer.exit_code != 0
    assert "ignores If-None-Match" in writer.output()
    assert "careless begins" not in writer.output()


def begun(s3: S3Server, story: Story, folder: Path, checkpoints: str, **sections: Any) -> tuple[Story, Installation]:
    """Return *story* with 200 records and a commit of 17, and an installation with its tables on S3."""
    story.begin().write(200)
    story.commit(f"{story.topic}-1", 17)
    tables = {"root": f"s3a://{BUCKET}/{folder.name}", "checkpoints": checkpoints, "storage": s3.storage}
    often = {"trigger_interval": "500ms", "reconcile_interval": "2s"}
    return story, install(folder, story.servers, [story.topic], tables=tables, sync=often, **sections)


def test_both_jobs_start_on_an_empty_bucket_and_maintenance_runs_beside_them(
    s3: S3Server, clusters: Clusters, tmp_path: Path
) -> None:
    checkpoints = f"s3a://{BUCKET}/{tmp_path.name}-checkpoints"
    index = {"trigger_interval": "500ms", "max_offsets_per_trigger": 50}
    story, installation = begun(s3, Story(clusters, "on-s3"), tmp_path, checkpoints, index=index)
    with ExitStack() as jobs:
        options = ["--master", "local[2]", *s3.spark_options()]
        indexer, sync = (
            jobs.enter_context(installation.started(job, *options)) for job in ("index_records", "sync_offsets")
        )
        story.arrives("on-s3-1", 17, sync)
        story.write(300)
        story.commit("on-s3-1", 480)
        run(installation, "maintain_tables", "--once", *options)
        story.arrives("on-s3-1", 480, sync)
        until(lambda: not any(story.missing(rows_of(s3, tmp_path, "record_runs")).values()), job=indexer)
        assert [job.terminate() < 90 and job.exit_code for job in (sync, indexer)] == [0, 0]
    story.check_index(rows_of(s3, tmp_path, "record_runs"))
    entries = [put for put in s3.entries if f"/{tmp_path.name}/" in put.key]
    assert all(put.is_conditional for put in entries)


def test_on_slow_storage_commits_are_late_and_exact_and_a_new_driver_waits_for_the_one_before(
    s3: S3Server, clusters: Clusters, tmp_path: Path
) -> None:
    """A look takes longer than two seconds here. The first driver is paused, so only waiting keeps the two apart."""
    story, installation = begun(s3, Story(clusters, "slow"), tmp_path, str(tmp_path / "checkpoints"))
    assert installation.run("index_records", "--once").exit_code == 0
    with ExitStack() as jobs:
        first = jobs.enter_context(installation.started("sync_offsets", log_name="first"))
        story.arrives("slow-1", 17, first)
        s3.let_requests_take(1.1)
        jobs.callback(s3.let_requests_take, 0.0)
        until(lambda: "slow storage: " in first.output(), job=first)
        story.commit("slow-1", 80)
        story.arrives("slow-1", 80, first)
        os.killpg(first.process.pid, signal.SIGSTOP)
        story.commit("slow-1", 90)
        second = jobs.enter_context(installation.started("sync_offsets", log_name="second"))
        story.arrives("slow-1", 90, second)
        os.killpg(first.process.pid, signal.SIGCONT)
        first.wait()
        assert first.exit_code == 3
        story.commit("slow-1", 60)
        until(lambda: story.offset("slow-1") == 60 + SHIFT, job=second)
        second.terminate()
        commit(clusters["dc2"], {"slow-1": {story.place: 5}})  # by hand, so that there is something to write
        moved = run(installation, "cutover", "apply", "--from", "dc1", "--to", "dc2", "--groups", ".*", "--disaster")
        assert "translating and committing 1 groups at dc2" in moved.output()
        assert story.offset("slow-1") == 60 + SHIFT
    claims = [row for row in rows_of(s3, tmp_path, "drivers") if row["job"] == "sync_offsets"]
    length_s = max(float(row["driver_id"].partition("-")[2]) for row in claims if row["epoch"] == 1)
    claimed_at = min(row["claimed_at"] for row in claims if row["epoch"] == 2)
    answers = [row["translated_at"] for row in rows_of(s3, tmp_path, "offset_translations")]
    assert length_s > 4
    assert min(at for at in answers if at > claimed_at) >= claimed_at + timedelta(seconds=length_s)
