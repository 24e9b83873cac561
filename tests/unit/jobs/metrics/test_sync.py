"""What is counted beside the parts of sync_offsets: micro-batches, starts, passes, records, outcomes and latency."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob
from fakes.metrics_site import XY, Watched
from fakes.reconciler_site import config_of, mirrored_site
from fakes.tables import PowerFailure
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.jobs.metrics.sync import CountedHistory, JobHealth, SyncMetrics
from offset_sync.sync.reconciliation import Reconciliation
from tools.prometheus_scrape import Scrape, read


class Job:
    """Counts what the test lets happen, by a clock that it turns."""

    def __init__(self) -> None:
        self.now = 50.0
        self.metrics = SyncMetrics(config_of(["X", "Y"]), lambda: self.now)

    def scrape(self) -> Scrape:
        return read([self.metrics])

    def fail(self, after: float) -> None:
        self.now += after
        raise PowerFailure


@pytest.fixture
def job() -> Job:
    return Job()


def test_a_micro_batch_is_timed_and_seen_while_it_runs(job: Job) -> None:
    with job.metrics.batch("X"):
        job.now += 3
        assert job.scrape().values("batch_running_seconds", "cluster") == {"X": 3, "Y": 0}
    scraped = job.scrape()
    assert scraped.values("batch_running_seconds", "cluster") == {"X": 0, "Y": 0}
    assert scraped.values("batch_seconds_count", "cluster") == {"X": 1, "Y": 0}
    assert scraped.value("batch_seconds_sum", cluster="X") == 3
    assert scraped.value("batch_seconds_bucket", cluster="X", le="2.0") == 0
    assert scraped.value("batch_seconds_bucket", cluster="X", le="5.0") == 1


def test_a_micro_batch_that_fails_is_over_and_has_no_duration(job: Job) -> None:
    with pytest.raises(PowerFailure), job.metrics.batch("X"):
        raise PowerFailure
    assert job.scrape().values("batch_running_seconds", "cluster") == {"X": 0, "Y": 0}
    assert job.scrape().value("batch_seconds_count", cluster="X") == 0


def test_starts_of_queries_are_counted(job: Job) -> None:
    job.metrics.count_start("X")
    assert job.scrape().values("query_starts_total", "cluster") == {"X": 1, "Y": 0}


def test_a_pass_that_raises_has_not_ended(job: Job) -> None:
    job.now += 10
    with job.metrics.reconciling():
        job.now += 2
    with pytest.raises(PowerFailure), job.metrics.reconciling():
        job.fail(after=5)
    scraped = job.scrape()
    assert scraped.value("reconcile_age_seconds") == 5
    assert (scraped.value("reconcile_seconds_count"), scraped.value("reconcile_seconds_sum")) == (1, 2)


def test_before_the_first_pass_its_age_is_that_of_the_job(job: Job) -> None:
    job.now += 12
    assert job.scrape().value("reconcile_age_seconds") == 12


def test_health_is_who_is_ready_who_fails_and_whether_the_history_is_written(caplog: pytest.LogCaptureFixture) -> None:
    queries, is_ready, errors = QuerySupervisor(threading.Event()), threading.Event(), [None, "3 rows not written"]
    health = JobHealth(["X", "Y"], is_ready.is_set, queries.errors, lambda: errors[is_ready.is_set()])
    scraped = read([health])
    assert (scraped.value("ready"), scraped.value("history_up")) == (0, 1)
    assert scraped.values("query_up", "cluster") == {"X": 1, "Y": 1}

    class Failing:
        def start(self) -> None:
            raise ConnectionError("no such host")

    queries.add("X", Failing())
    with caplog.at_level(logging.CRITICAL):
        queries.run_once()
    is_ready.set()
    scraped = read([health])
    assert (scraped.value("ready"), scraped.value("history_up")) == (1, 0)
    assert scraped.values("query_up", "cluster") == {"X": 0, "Y": 1}


def test_records_are_counted_by_kind_once_their_history_is_written(job: Job) -> None:
    ingesting = IngestingJob()
    ingesting.batch._metrics = job.metrics
    assert job.scrape().values("records_total", "kind", cluster="X") == {"genuine": 0, "own": 0, "malformed": 0}
    rows = [
        (commit_key("g", "orders", 0), commit_value(4)),
        (commit_key("g", "orders", 1), commit_value(5)),
        (commit_key("h", "orders", 0), commit_value(4)),
        (b"\x00\x01\xff", b"?"),
    ]
    ingesting.write_as_we_do("h", 4)
    ingesting.ingest(0, *rows)
    assert job.scrape().values("records_total", "kind", cluster="X") == {"genuine": 2, "own": 1, "malformed": 1}
    assert job.scrape().positive("records_total", "kind", cluster="Y") == {}


@pytest.fixture
def watched() -> Watched:
    return Watched(mirrored_site())


def test_reconciliations_are_counted_by_outcome_and_timed_once_per_commit(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.read("X")
    watched.site.pass_time(1_500)
    for _ in range(3):
        watched.reconcile()
    scraped = watched.scrape()
    assert scraped.value("commit_latency_seconds_count", **XY) == 1
    assert scraped.value("commit_latency_seconds_sum", **XY) == pytest.approx(1.5, abs=0.01)
    assert scraped.value("commit_latency_seconds_bucket", le="1.0", **XY) == 0
    assert scraped.value("commit_latency_seconds_bucket", le="2.0", **XY) == 1
    assert scraped.value("outcomes_total", outcome="COMMITTED", **XY) == 1
    assert scraped.value("outcomes_total", outcome="UNCHANGED", **XY) >= 1


def test_a_refresh_of_the_same_offset_is_no_latency(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(13 * 3_600_000)
    for _ in range(4):
        watched.reconcile()
    assert watched.scrape().value("outcomes_total", outcome="COMMITTED", **XY) == 2
    assert watched.scrape().value("commit_latency_seconds_count", **XY) == 1


def test_a_reconciliation_is_recorded_first_and_a_mistake_in_counting_stops_nothing(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.reconcile()
    recorded: list[Reconciliation] = []
    watched.metrics.waiting.clear()
    CountedHistory(recorded, watched.metrics).append(watched.site.reconciliations[-1])
    assert recorded == watched.site.reconciliations[-1:]
    assert "a reconciliation was not counted" in caplog.text


def test_the_latency_of_answers_that_a_new_driver_finds_is_not_counted(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.metrics = SyncMetrics(watched.site.config)
    watched.reconcile()
    assert watched.scrape().value("outcomes_total", outcome="UNCHANGED", **XY) == 1
    assert watched.scrape().value("commit_latency_seconds_count", **XY) == 0


def test_a_disordered_timestamp_is_counted_once_however_often_it_is_said(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.reconcile()
    plain = watched.site.reconciliations[-1]
    answers = replace(plain.translated.answers, is_disordered=np.array([True]))
    disordered = replace(plain, translated=replace(plain.translated, answers=answers))
    again = replace(disordered, is_news=np.array([False]))
    for reconciliation in (plain, disordered, again, again):
        watched.metrics.count(reconciliation)
    assert watched.scrape().value("timestamp_disordered_total", **XY) == 1
