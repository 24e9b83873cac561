"""What index_records says while it works."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from offset_sync.ingest.index_parts import Backfill, IndexProgress
from offset_sync.jobs import job_output
from offset_sync.jobs.job_output import IndexOutput, caught_up_line, end_line, progress_line
from offset_sync.model.values import TopicPartition


def test_a_line_has_records_their_rate_the_share_and_the_time_left() -> None:
    now = Backfill(records=1_234_567, records_per_s=43_210.4, done=37, total=100, seconds_left=80.0)
    assert progress_line(now) == (
        "indexing: 1.23M records, 43,210 records/s, 37% of the records present at the start, time left 1 min 20 s"
    )


def test_while_the_time_left_is_unknown_the_line_says_so() -> None:
    assert progress_line(Backfill(0, 0.0, 0, 100, None)).endswith(
        "0% of the records present at the start, time left unknown"
    )


def test_the_end_of_a_backfill_and_of_a_run_have_their_counts() -> None:
    now = Backfill(500, 50.0, 100, 100, 0.0)
    assert caught_up_line(now, 10.0) == "caught up after 10 s: 500 records, 50 records/s; indexing new records"
    assert end_line(now, 10.0) == "indexed 500 records in 10 s, 100% of the records present at the start"


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
