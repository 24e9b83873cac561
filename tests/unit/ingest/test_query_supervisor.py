"""Queries side by side, with queries in memory: who is started when, and how all of them end."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, PropertyMock

import pyarrow as pa
import pytest

from builders.record_schemas import MIRRORED_RECORDS
from offset_sync.ingest import query_supervisor
from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.failing_batches import TIMES, FailingBatches
from offset_sync.ingest.query_errors import reason_of, with_full_disk
from offset_sync.ingest.query_supervisor import QuerySupervisor, StopRequestedError, has_caught_up
from offset_sync.model.errors import ClusterError, OtherClusterError, TakenOverError
from offset_sync.model.values import OffsetRange, TopicPartition
from tools.waiting import until

PATIENCE_S = 10.0
WAITING = {"isDataAvailable": False, "isTriggerActive": False, "message": "Waiting for data to arrive"}
"""The status of a query that has nothing to do."""


@dataclass
class Query:
    """A streaming query that does what it is told."""

    isActive: bool = True
    name: str = "a query"
    error: str | None = None
    status: dict[str, Any] = field(default_factory=lambda: dict(WAITING))
    lastProgress: dict[str, Any] | None = None

    def exception(self) -> str | None:
        return self.error

    def end(self, error: str | None = None) -> None:
        self.isActive, self.error = False, error

    def stop(self) -> None:
        self.end()


Result = Query | Exception | None


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("_POLL", 0.01), ("FIRST_BACK_OFF", 0.05), ("LONGEST_BACK_OFF", 0.2)):
        monkeypatch.setattr(query_supervisor, f"{name}_SECONDS", seconds)


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


@pytest.fixture
def group(stop: threading.Event) -> QuerySupervisor:
    return QuerySupervisor(stop)


class Starts:
    """What a query's start does, one entry each time, the last one again and again, once the cluster *answers*."""

    def __init__(self, *results: Result) -> None:
        self._results, self.times, self.answers = list(results), list[float](), threading.Event()
        self.answers.set()

    def start(self) -> Any:
        self.answers.wait(30)
        self.times.append(time.monotonic())
        result = self._results.pop(0) if len(self._results) > 1 else self._results[0]
        if isinstance(result, Exception):
            raise result
        return result


@contextmanager
def running(group: QuerySupervisor, stop: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=group.run_until_stopped)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_a_query_that_cannot_be_started_is_tried_with_longer_and_longer_pauses(
    group: QuerySupervisor, stop: threading.Event
) -> None:
    ended, lost = MagicMock(isActive=False), MagicMock()
    type(ended).lastProgress = type(lost).isActive = PropertyMock(side_effect=ValueError)
    broken, fine, nothing = Starts(OSError("no brokers")), Starts(Query()), Starts(None, None, Query())
    again = Starts(ended, Query())
    for number, starts in enumerate((broken, fine, nothing, again, Starts(lost, Query())), 1):
        group.add(f"dc{number}", starts)
    with running(group, stop):
        until(lambda: len(broken.times) >= 6 and len(nothing.times) == 3 and len(again.times) == 2)
        assert group.errors() == {"dc1": "no brokers"}, "where there is nothing to read yet is none"
    for starts, least in ((broken, [0.05, 0.1, 0.2, 0.2, 0.2]), (nothing, [0.05, 0.05])):
        assert all(later - earlier >= gap for (earlier, later), gap in zip(pairwise(starts.times), least, strict=False))
    assert len(fine.times) == 1
    lost.stop.assert_called_once()


def test_a_micro_batch_that_finds_the_driver_taken_over_ends_the_job_quietly_and_none_begins_after_it(
    group: QuerySupervisor, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, silenced = list[int](), list[object]()
    monkeypatch.setattr(query_supervisor, "silence_batches", silenced.append)

    def taken_over(_batch: object, batch_id: int) -> None:
        begun.append(batch_id)
        raise TakenOverError("another driver")

    guarded = group.stop_between_batches(taken_over)
    for batch_id in (1, 2):
        with pytest.raises(StopRequestedError):
            guarded(MagicMock(), batch_id)
    assert (stop.is_set(), begun, len(silenced)) == (True, [1], 2)


def test_once_waits_for_all_and_says_what_failed(group: QuerySupervisor) -> None:
    fine, failing = Query(), Query()
    results: list[Result] = [fine, failing, OSError("no brokers\nat all"), None, ClusterError("dc5", "refused")]
    for number, result in enumerate(results, 1):
        group.add(f"dc{number}", Starts(result))
    threading.Timer(0.1, lambda: failing.end("ValueError: bad")).start()
    threading.Timer(0.3, fine.end).start()
    found = group.run_once()
    assert found == {"dc2": "ValueError: bad", "dc3": "no brokers", "dc5": "clusters.dc5: refused"}
    assert not fine.isActive
    named = ["clusters.dc2: ValueError: bad", "clusters.dc3: no brokers", "clusters.dc5: refused"]
    assert group.failures() == named, "each its cluster once"


ENDS = '{"t": {"0": 4}}'
AFTER_A_BATCH = {**WAITING, "isDataAvailable": True, "message": "Waiting for next trigger"}


def read_to(end: str, latest: str, description: str = "KafkaV2[Assign[t-0]]") -> dict[str, Any]:
    return {"sources": [{"description": description, "endOffset": end, "latestOffset": latest}]}


@pytest.mark.parametrize(
    ("query", "has"),
    [
        (Query(lastProgress=read_to(ENDS, '{"t": {"0": 5}}')), False),
        (Query(lastProgress=read_to(ENDS, ENDS), status=AFTER_A_BATCH), True),
        (Query(lastProgress=read_to(ENDS, "null"), status=AFTER_A_BATCH), False),  # planned by the driver before
        (Query(lastProgress=read_to(ENDS, "null")), True),
        (Query(lastProgress=read_to('{"offset": 1}', "null", "RateStreamMicroBatch["), status=AFTER_A_BATCH), True),
        (Query(), True),
        (Query(status={**WAITING, "message": "Initializing sources"}), False),
    ],
)
def test_a_query_has_caught_up_when_it_has_read_its_log_to_the_end(query: Query, has: bool) -> None:
    assert has_caught_up(query) == has  # type: ignore[arg-type]


def test_one_that_cannot_read_its_log_is_not_waited_for_and_has_not_read_it(
    group: QuerySupervisor, stop: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_supervisor, "FIRST_BACK_OFF_SECONDS", PATIENCE_S)  # what has failed is not tried again
    group.add("dc1", Starts(Query(isActive=False, error="down")))
    group.add("nothing to read", Starts(None))
    with running(group, stop):
        until(lambda: group.errors() and group.has_caught_up("nothing to read"))
        assert (group.have_caught_up(), group.has_caught_up("dc1")) == (True, False)


@pytest.mark.parametrize("once", [True, False])
def test_a_stop_does_not_wait_for_a_silent_cluster_and_its_query_is_ended_when_it_comes(
    group: QuerySupervisor, stop: threading.Event, once: bool
) -> None:
    group.add("dc1", silent := Starts(query := Query()))
    silent.answers.clear()
    threading.Timer(0.3, stop.set).start()
    if once:
        assert group.run_once() == {"dc1": "stopped before its end was reached"}
    else:
        group.run_until_stopped()
    assert not silent.times
    silent.answers.set()
    until(lambda: silent.times and not query.isActive)


ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 1)
READS = "orders-0 from 0 to 400, pay-1 from 3 to 400"


class Step:
    """Reads 400 records of either partition; fails at some offsets of orders."""

    def __init__(self, *bad: int) -> None:
        self.bad, self.tried, self.forgotten = bad, 0, 0

    def forget_plan(self) -> None:
        self.forgotten += 1

    def ranges(self, _batch_id: int) -> OffsetRanges:
        return {PAY: OffsetRange(3, 400), ORDERS: OffsetRange(0, 400), TopicPartition("idle", 0): OffsetRange(7, 7)}

    def rows(self, ranges: OffsetRanges) -> Iterator[pa.RecordBatch]:
        for place in ranges:
            rows = [{"topic": place.topic, "partition": place.partition, "offset": offset} for offset in range(400)]
            yield pa.RecordBatch.from_pylist(rows, MIRRORED_RECORDS)

    def try_rows(self, rows: pa.RecordBatch) -> None:
        self.tried += 1
        places = zip(rows["topic"].to_pylist(), rows["offset"].to_pylist(), strict=True)
        if wrong := [offset for topic, offset in places if topic == "orders" and offset in self.bad]:
            raise ValueError(f"cannot take {wrong[0]}\nand more lines")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]


def fail(step: Step, times: int = TIMES, problem: Exception | None = None) -> None:
    problem = problem or ValueError("a bug")

    def refuse(_batch: object, _batch_id: int) -> None:
        raise problem

    failing = FailingBatches("dc1", step)
    for _ in range(times):
        # A query that is restarted is guarded again.
        with pytest.raises(type(problem)):
            failing.guard(refuse, step)(MagicMock(), 17)


def test_the_third_failure_names_the_record_and_no_other_does(caplog: pytest.LogCaptureFixture) -> None:
    step = Step(237, 300)
    fail(step, TIMES - 1)
    assert (said(caplog), step.tried) == ([], 0)
    fail(step, TIMES + 3)
    assert said(caplog) == [
        f"clusters.dc1: micro-batch 17 has failed 3 times: a bug; it reads {READS}; it fails at orders-0 offset 237: "
        "cannot take 237"
    ]


@pytest.mark.parametrize(
    ("problem", "forgotten"),
    [
        (OtherClusterError("dc1", "another id"), 1),
        (RuntimeError("PythonException: offset_sync.model.errors.OtherClusterError: clusters.dc1: another id"), 1),
        (ClusterError("dc1", "no answer"), 0),
    ],
    ids=["of the driver", "of a task", "of a silent cluster"],
)
def test_a_micro_batch_that_another_cluster_has_planned_is_not_repeated(problem: Exception, forgotten: int) -> None:
    fail(step := Step(), 1, problem)
    assert step.forgotten == forgotten


JAVA = "java.io.IOException: No space left on device"


def test_the_folder_that_is_full_is_named_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = str(tmp_path / "checkpoints")

    def statvfs(place: str) -> SimpleNamespace:
        return SimpleNamespace(f_bavail=0 if place == full else 1 << 20, f_frsize=4096, f_favail=9, f_files=10)

    monkeypatch.setattr(os, "statvfs", statvfs)
    told = with_full_disk(JAVA, [str(tmp_path / "tables"), f"file://{full}"])
    assert told == f"the disk is full: make room in {full} ({JAVA})"


def test_why_a_client_cannot_be_constructed_is_its_root_cause() -> None:
    class Captured(Exception):
        _cause: Captured | None = None

    chain = [
        Captured(text)
        for text in ("Failed to construct kafka consumer\n=== Query", "KafkaException: x", "no such file")
    ]
    for problem, chain_cause in pairwise(chain):
        problem._cause = chain_cause
    assert reason_of(chain[0]) == "Failed to construct kafka consumer: no such file"
    assert reason_of(chain[1]) == "KafkaException: x"
