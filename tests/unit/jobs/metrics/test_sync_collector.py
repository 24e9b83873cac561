"""What is counted beside the parts of sync_offsets: micro-batches, starts, passes, records, and their failures."""

from __future__ import annotations

import logging
import threading

import pyarrow as pa
import pytest

from builders.offset_records import commit_key, commit_value
from fakes.reconciler_site import config_of
from fakes.tables import MemoryFrame, MemoryTables, PowerFailure
from offset_sync.ingest.commit_ingester import CommitIngester
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.jobs.metrics.sync_collector import SyncMetrics
from offset_sync.state.committed_offsets import OWN_TAG, CommittedOffsets
from tools.prometheus_scrape import Scrape, read

RECORDS = pa.schema(
    [("key", pa.binary()), ("value", pa.binary()), ("partition", pa.int32()), ("offset", pa.int64()),
     ("timestamp", pa.timestamp("us", "UTC"))]
)  # fmt: skip


class Job:
    """Counts what the test lets happen, by a clock that it turns."""

    def __init__(self) -> None:
        self.now = 50.0
        self.metrics = SyncMetrics(config_of(["X", "Y"]), lambda: self.now)
        self.is_ready, self.errors, self.history_error = False, dict[str, str](), ""

    def scrape(self) -> Scrape:
        self.metrics.ask(lambda: self.is_ready, lambda: self.errors, lambda: self.history_error or None)
        return read([self.metrics])

    def fail(self, after: float) -> None:
        self.now += after
        raise PowerFailure

    def query_id(self) -> str:
        return "query"

    def record_limit(self, batch_id: int) -> int:
        return 4


@pytest.fixture
def job() -> Job:
    return Job()


def test_a_micro_batch_is_timed_and_seen_while_it_runs(job: Job) -> None:
    seen = []

    def take_in(batch: str, batch_id: int) -> None:
        job.now += 3
        seen.append((batch, batch_id, job.scrape().values("batch_running_seconds", "cluster")))

    job.metrics.timed("X", take_in)("records", 7)
    assert seen == [("records", 7, {"X": 3, "Y": 0})]
    scraped = job.scrape()
    assert scraped.values("batch_running_seconds", "cluster") == {"X": 0, "Y": 0}
    assert scraped.values("batch_seconds_count", "cluster") == {"X": 1, "Y": 0}
    assert scraped.value("batch_seconds_sum", cluster="X") == 3
    assert scraped.value("batch_seconds_bucket", cluster="X", le="2.0") == 0
    assert scraped.value("batch_seconds_bucket", cluster="X", le="5.0") == 1


def test_a_micro_batch_that_fails_is_over_and_has_no_duration(job: Job) -> None:
    def fail(batch: str, batch_id: int) -> None:
        raise PowerFailure

    with pytest.raises(PowerFailure):
        job.metrics.timed("X", fail)("records", 7)
    assert job.scrape().values("batch_running_seconds", "cluster") == {"X": 0, "Y": 0}
    assert job.scrape().value("batch_seconds_count", cluster="X") == 0


def test_only_queries_that_could_be_started_are_counted(job: Job) -> None:
    assert job.metrics.starting("X", lambda: "query")() == "query"
    assert job.metrics.starting("X", lambda: None)() is None
    with pytest.raises(PowerFailure):
        job.metrics.starting("Y", lambda: (_ for _ in ()).throw(PowerFailure))()
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
    job.is_ready, job.errors, job.history_error = True, {"Y": "no such host"}, "3 rows not written"
    scraped = job.scrape()
    assert (scraped.value("ready"), scraped.value("history_up")) == (1, 0)
    assert scraped.values("query_up", "cluster") == {"X": 1, "Y": 0}


def test_a_group_of_queries_says_which_of_them_failed(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    queries = QuerySupervisor(threading.Event())

    def fail() -> None:
        raise ConnectionError("no such host")

    queries.add("X", job.metrics.starting("X", fail))
    with caplog.at_level(logging.CRITICAL):
        queries.run_once()
    job.errors = queries.errors()
    assert job.scrape().values("query_up", "cluster") == {"X": 0, "Y": 1}


def test_records_are_counted_by_kind_once_their_history_is_written(job: Job) -> None:
    is_ready, book, tables = threading.Event(), CommittedOffsets(["X", "Y"]), MemoryTables()
    ingester = CommitIngester(
        "X", tables, job, book, threading.RLock(), lambda keys, batch_id: [], is_ready,  # type: ignore[arg-type]
        job.metrics.counting_records("X"),
    )  # fmt: skip
    assert job.scrape().values("records_total", "kind", cluster="X") == {"genuine": 0, "own": 0, "malformed": 0}
    rows = [
        (commit_key("g", "orders", 0), commit_value(4)),
        (commit_key("g", "orders", 1), commit_value(5)),
        (commit_key("h", "orders", 0), commit_value(4, metadata=OWN_TAG)),
        (b"\x00\x01\xff", b"?"),
    ]
    records = [
        {"key": key, "value": value, "partition": 0, "offset": n, "timestamp": 0} for n, (key, value) in enumerate(rows)
    ]
    ingester(MemoryFrame(pa.Table.from_pylist(records, RECORDS)), 0)  # type: ignore[arg-type]
    assert job.scrape().values("records_total", "kind", cluster="X") == {"genuine": 2, "own": 1, "malformed": 1}
    assert job.scrape().positive("records_total", "kind", cluster="Y") == {}
