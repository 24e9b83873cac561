"""Several drivers that write on S3 at once: what is promised without a lock table."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import install, until
from broker.story import Story, run
from cluster.on_s3 import rows_of, start_writer
from cluster.s3_server import BUCKET, S3Server

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


def test_both_jobs_start_on_an_empty_bucket_and_maintenance_runs_beside_them(
    s3: S3Server, clusters: Clusters, tmp_path: Path
) -> None:
    root, story = f"s3a://{BUCKET}/{tmp_path.name}", Story(clusters, "on-s3").begin()
    story.write(200)
    story.commit("on-s3-1", 17)
    tables = {"root": root, "checkpoints": f"{root}-checkpoints", "storage": s3.storage}
    often = {"trigger_interval": "500ms", "reconcile_interval": "2s"}
    index = {"trigger_interval": "500ms", "max_offsets_per_trigger": 50}
    installation = install(tmp_path, story.servers, [story.topic], tables=tables, sync=often, index=index)
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
        for job in (sync, indexer):
            job.terminate()
            assert job.exit_code == 0, job.output()[-3000:]
    story.check_index(rows_of(s3, tmp_path, "record_runs"))
    entries = [put for put in s3.entries if f"/{tmp_path.name}/" in put.key]
    assert all(put.is_conditional for put in entries)
