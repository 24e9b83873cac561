"""What ends queries from outside: a driver that was taken over, and a stop while a cluster is silent."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable
from unittest.mock import MagicMock

import pytest

from fakes.streaming_query import Query
from offset_sync.ingest import query_supervisor
from offset_sync.ingest.query_supervisor import QuerySupervisor, StopRequestedError
from offset_sync.model.errors import TakenOverError


class Silent:
    """A cluster that does not answer until the test lets it."""

    def __init__(self) -> None:
        self.query, self.answers, self.is_asked = Query(), threading.Event(), threading.Event()

    def start(self) -> Query:
        self.is_asked.set()
        self.answers.wait(30)
        return self.query


def test_a_stop_does_not_wait_for_a_silent_cluster_and_its_query_is_ended_when_it_comes() -> None:
    stop, silent = threading.Event(), Silent()
    group = QuerySupervisor(stop)
    group.add("dc1", silent)  # type: ignore[arg-type]
    running = threading.Thread(target=group.run_until_stopped)
    running.start()
    assert silent.is_asked.wait(10)
    stop.set()
    running.join(5)
    assert not running.is_alive()
    silent.answers.set()
    ends_at = time.monotonic() + 5
    while silent.query.isActive and time.monotonic() < ends_at:
        time.sleep(0.02)
    assert not silent.query.isActive


def test_a_micro_batch_of_a_driver_that_was_taken_over_ends_everything_and_is_no_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filters: list[Callable[[logging.LogRecord], bool]] = []
    monkeypatch.setattr(query_supervisor, "silence_batches", filters.append)  # there is no JVM here
    stop = threading.Event()

    def batch(_records: object, _batch_id: int) -> None:
        raise TakenOverError("by another driver")

    with pytest.raises(StopRequestedError):
        QuerySupervisor(stop).stop_between_batches(batch)(MagicMock(), 1)
    assert stop.is_set()
    assert len(filters) == 1


@pytest.mark.parametrize("goes_on", [True, False])
def test_who_goes_on_with_other_queries_hears_of_their_micro_batches(
    monkeypatch: pytest.MonkeyPatch, *, goes_on: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr(query_supervisor, "silence_batches", lambda _: said.append("silent"))
    monkeypatch.setattr(query_supervisor, "hear_batches", lambda _: said.append("heard"))
    stop, over = threading.Event(), threading.Event()
    group = QuerySupervisor(stop, over)
    (over if goes_on else stop).set()
    with pytest.raises(StopRequestedError):
        group.stop_between_batches(lambda _records, _batch_id: None)(MagicMock(), 1)
    group.stop()
    assert said == (["silent", "heard"] if goes_on else ["silent"])


def test_a_query_that_falls_with_the_rest_is_not_said_to_be_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()

    class Overtaken:
        def start(self) -> Query:
            stop.set()
            raise TakenOverError("by another driver")

    group = QuerySupervisor(stop)
    group.add("dc1", Overtaken())  # type: ignore[arg-type]
    group.run_until_stopped()
    assert not caplog.records


def test_a_job_that_has_ended_is_not_kept_by_the_last_error_of_its_micro_batch() -> None:
    """Spark keeps that error, whose traceback has the frames that raised it."""

    class Job:
        def batch(self, _records: object, _batch_id: int) -> None:
            raise ValueError("a record that cannot be read") from KeyError(str(self))

    job = Job()
    gone, group = weakref.ref(job), QuerySupervisor(threading.Event())
    function, errors = group.stop_between_batches(job.batch), list[Exception]()
    try:
        function(MagicMock(), 1)
    except ValueError as error:
        errors.append(error)
    group.stop()
    del job, group
    gc.collect()
    assert gone() is None
    assert str(errors[0]) == "a record that cannot be read"
