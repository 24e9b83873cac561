"""What the jobs say while they work, whole, as the golden files of index_records and sync_offsets have it."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from fakes.clusters import MemoryTopic
from fakes.metrics_site import WORST
from fakes.reconciler_site import mirrored_site
from offset_sync.ingest.index_parts import Backfill, IndexProgress
from offset_sync.jobs import job_output
from offset_sync.jobs.job_output import IndexOutput, SyncSummary, caught_up_line, end_line, progress_line
from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import CountedHistory, SyncMetrics
from offset_sync.model.values import TopicPartition
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler
from tools.golden_output import expect


def test_index_records_says_how_far_it_is() -> None:
    lines = [
        progress_line(Backfill(records=1_234_567, records_per_s=43_210.4, done=37, total=100, seconds_left=80.0)),
        progress_line(Backfill(0, 0.0, 0, 100, None)),
        caught_up_line(Backfill(500, 50.0, 100, 100, 0.0), 10.0),
        end_line(Backfill(500, 50.0, 100, 100, 0.0), 10.0),
    ]
    expect("index_records.txt", "\n".join(lines))


@pytest.mark.timeout(40)  # it does not wait for the next summary, a minute later
def test_lines_come_by_themselves_until_the_job_has_caught_up_and_once_more_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(job_output, "LINE_EVERY_S", 0.01)
    progress = IndexProgress()
    progress.expect("dc1", {TopicPartition("orders", 0): 100})
    monkeypatch.setattr(job_output, "progress_line", lambda now: f"{now.share:.0%} done")
    with caplog.at_level(logging.INFO):
        output = IndexOutput(progress, threading.Event())
        output.start()
        while not caplog.records:
            time.sleep(0.01)
        progress.advance("dc1", {("orders", 0): 0}, {("orders", 0): 100}, 90)
        output.caught_up()
        output.caught_up()
        output.end()
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "0% done"
    assert sum(line.startswith("caught up after") for line in said) == 1
    assert said[-1].startswith("indexed 90 records in")


def test_sync_offsets_says_what_has_happened_since_the_line_before() -> None:
    site = mirrored_site()
    metrics = SyncMetrics(site.config)
    lists = ReadLists(site.config, site.state, {})
    history = CountedHistory(site.reconciliations, metrics)
    site.reconciler = Reconciler(site.config, site.state, site, site.writers, history, lists)
    summary = SyncSummary(site.state, metrics, Positions(site.state, metrics.waiting, WORST))
    for group in ("readers", "others"):
        site.commit("X", group, 4)
    site.read_all()
    lines = [summary.caught_up()]
    metrics.count_records("X", {"genuine": 1, "own": 0, "malformed": 0})
    site.reconcile()
    lines += [summary.minute(), summary.minute()]
    site.clusters["Y"].topics["orders"] = MemoryTopic("another id", 1)
    site.commit("X", "readers", 5)
    site.reconcile()
    site.pass_time(90_000)
    expect("sync_offsets.txt", "\n".join([*lines, summary.minute(), summary.ended()]))
