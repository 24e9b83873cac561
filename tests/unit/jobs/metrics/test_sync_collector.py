"""What is counted beside the parts of sync_offsets: micro-batches, starts, passes, records, and their failures."""

from __future__ import annotations

import logging
import threading

import pytest

from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob
from fakes.reconciler_site import config_of
from fakes.tables import PowerFailure
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.jobs.metrics.sync_collector import SyncMetrics
from tools.prometheus_scrape import Scrape, read

NO_ERROR: str | None = None


class Job:
    """Counts what the test lets happen, by a clock that it turns."""

    def __init__(self) -> None:
        self.now = 50.0
        self.metrics = SyncMetrics(config_of(["X", "Y"]), lambda: self.now)
        self.is_ready, self.query_errors, self.history_error = False, dict[str, str](), NO_ERROR

    def scrape(self) -> Scrape:
        self.metrics.watch(self)
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


def test_it_says_who_is_ready_who_fails_and_whether_the_history_is_written(job: Job) -> None:
    scraped = job.scrape()
    assert (scraped.value("ready"), scraped.value("history_up")) == (0, 1)
    assert scraped.values("query_up", "cluster") == {"X": 1, "Y": 1}
    job.is_ready, job.query_errors, job.history_error = True, {"Y": "no such host"}, "3 rows not written"
    scraped = job.scrape()
    assert (scraped.value("ready"), scraped.value("history_up")) == (1, 0)
    assert scraped.values("query_up", "cluster") == {"X": 1, "Y": 0}


def test_a_group_of_queries_says_which_of_them_failed(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    queries = QuerySupervisor(threading.Event())

    class Failing:
        def start(self) -> None:
            raise ConnectionError("no such host")

    queries.add("X", Failing())
    with caplog.at_level(logging.CRITICAL):
        queries.run_once()
    job.query_errors = queries.errors()
    assert job.scrape().values("query_up", "cluster") == {"X": 0, "Y": 1}


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
