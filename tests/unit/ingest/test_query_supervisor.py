"""Queries side by side, with queries and a clock in memory: who is started when, and how all of them end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from fakes.streaming_query import WAITING, Clock, Query, Starts, Stop
from offset_sync.ingest import query_supervisor
from offset_sync.ingest.query_supervisor import LONGEST_BACK_OFF_SECONDS, QuerySupervisor, StopRequestedError
from offset_sync.model.errors import ClusterError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    turned = Clock()
    monkeypatch.setattr(query_supervisor, "time", turned)
    return turned


@pytest.fixture
def stop(clock: Clock) -> Stop:
    return Stop(clock)


@pytest.fixture
def group(stop: Stop) -> QuerySupervisor:
    return QuerySupervisor(stop)


def forever(*first: Query | Exception | None, then: Query | Exception | None) -> Iterator[Query | Exception | None]:
    yield from first
    while True:
        yield then


def run_for(group: QuerySupervisor, clock: Clock, stop: Stop, seconds: float) -> None:
    clock.after(seconds, stop.set)
    group.run_until_stopped()


def test_a_query_that_cannot_be_started_is_tried_with_longer_and_longer_pauses(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    broken, fine = Starts(clock, forever(then=OSError("no brokers"))), Starts(clock, iter([Query()]))
    group.add("dc1", broken)
    group.add("dc2", fine)
    run_for(group, clock, stop, 250)
    assert broken.gaps() == [1, 2, 4, 8, 16, 32, *[round(LONGEST_BACK_OFF_SECONDS)] * 3]
    assert group.errors() == {"dc1": "no brokers"}
    assert len(fine.times) == 1


def test_each_failure_names_its_cluster_once(group: QuerySupervisor, clock: Clock) -> None:
    group.add("dc1", Starts(clock, iter([OSError("no brokers")])))
    group.add("dc2", Starts(clock, iter([ClusterError("dc2", "refused")])))
    group.add("dc3", Starts(clock, iter([None])))
    group.run_once()
    assert group.failures() == ["clusters.dc1: no brokers", "clusters.dc2: refused"]


def test_a_query_that_fails_while_running_is_started_again_and_the_other_goes_on(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    failing, other = Query(), Query()
    starts = Starts(clock, iter([failing, Query()]))
    group.add("dc1", starts)
    group.add("dc2", Starts(clock, iter([other])))
    seen: list[dict[str, str]] = []
    clock.after(5, lambda: failing.end("org.example.KafkaException: timed out\nat line 1"))
    clock.after(5.5, lambda: seen.append(group.errors()))
    clock.after(9, lambda: seen.append(group.errors()))
    clock.after(9, lambda: seen.append({"other": str(other.isActive)}))
    run_for(group, clock, stop, 10)
    assert starts.gaps() == [6]
    assert seen == [{"dc1": "org.example.KafkaException: timed out"}, {}, {"other": "True"}]


def test_a_query_that_ends_without_an_error_is_started_again_too(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    ended = Query()
    starts = Starts(clock, iter([ended, Query()]))
    group.add("dc1", starts)
    clock.after(1, ended.end)
    run_for(group, clock, stop, 10)
    assert len(starts.times) == 2


def test_progress_makes_the_next_pause_short_again(group: QuerySupervisor, clock: Clock, stop: Stop) -> None:
    recovered = Query()
    starts = Starts(clock, forever(OSError("1"), OSError("2"), OSError("3"), recovered, then=Query()))
    group.add("dc1", starts)
    clock.after(12, lambda: setattr(recovered, "lastProgress", {"sources": []}))
    clock.after(20, lambda: recovered.end("down"))
    run_for(group, clock, stop, 30)
    assert starts.gaps() == [1, 2, 4, 14]


def test_a_query_that_fails_again_before_any_progress_waits_longer_still(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    starts = Starts(clock, (Query(isActive=False, error="down") for _ in range(9)))
    group.add("dc1", starts)
    run_for(group, clock, stop, 20)
    assert starts.gaps() == [1, 2, 4, 8]


def test_where_there_is_nothing_to_read_yet_it_is_asked_again_and_that_is_no_error(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    starts = Starts(clock, forever(None, None, None, then=Query()))
    group.add("dc1", starts)
    run_for(group, clock, stop, 10)
    assert starts.gaps() == [1, 1, 1]
    assert group.errors() == {}


# Stopping


def test_stopping_lets_the_micro_batch_in_hand_finish(group: QuerySupervisor, clock: Clock, stop: Stop) -> None:
    query = Query(status={**WAITING, "isTriggerActive": True})
    group.add("dc1", Starts(clock, iter([query])))
    ended_at: list[float] = []
    query.stop = lambda: (ended_at.append(clock.seconds), query.end())  # type: ignore[method-assign,assignment,return-value]
    clock.after(15, lambda: query.status.update(isTriggerActive=False))
    run_for(group, clock, stop, 10)
    assert [round(at) for at in ended_at] == [115]


def test_a_micro_batch_that_does_not_finish_is_interrupted_in_the_end(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    query = Query(status={**WAITING, "isTriggerActive": True})
    group.add("dc1", Starts(clock, iter([query])))
    run_for(group, clock, stop, 10)
    assert (query.isActive, round(clock.seconds)) == (False, 170)


def test_no_micro_batch_begins_once_a_stop_is_asked_for_and_its_end_is_no_news(
    group: QuerySupervisor, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, filters = list[int](), list[Callable[[logging.LogRecord], bool]]()
    monkeypatch.setattr(query_supervisor, "silence_batches", filters.append)  # there is no JVM here
    guarded = group.stop_between_batches(lambda batch, batch_id: batches.append(batch_id))
    guarded(MagicMock(), 1)
    assert filters == []
    stop.set()
    with pytest.raises(StopRequestedError):
        guarded(MagicMock(), 2)
    assert batches == [1]
    (is_worth_telling,) = filters
    for error, is_told in ((StopRequestedError(), False), (ValueError(), True)):
        raised = (type(error), error, None)
        record = logging.LogRecord("py4j.clientserver", logging.INFO, "", 0, "failed", (), raised)
        assert is_worth_telling(record) == is_told


# Once


def test_once_waits_for_all_and_says_what_failed(group: QuerySupervisor, clock: Clock) -> None:
    fine, failing = Query(), Query()
    group.add("dc1", Starts(clock, iter([fine])))
    group.add("dc2", Starts(clock, iter([failing])))
    group.add("dc3", Starts(clock, iter([OSError("no brokers\nat all")])))
    group.add("dc4", Starts(clock, iter([None])))
    clock.after(5, lambda: failing.end("ValueError: bad"))
    clock.after(9, fine.end)
    assert group.run_once() == {"dc2": "ValueError: bad", "dc3": "no brokers"}
    assert round(clock.seconds) == 109


def test_once_that_is_stopped_before_its_end_has_not_done_all_of_it(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    fine, slow = Query(isActive=False), Query()
    group.add("dc1", Starts(clock, iter([fine])))
    group.add("dc2", Starts(clock, iter([slow])))
    clock.after(5, stop.set)
    assert group.run_once() == {"dc2": "stopped before its end was reached"}
    assert not slow.isActive


# Caught up


@pytest.mark.parametrize(
    ("query", "has"),
    [
        (Query(lastProgress={"sources": [{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 5}}}]}), True),
        (Query(lastProgress={"sources": [{"endOffset": {"t": {"0": 4}}, "latestOffset": {"t": {"0": 5}}}]}), False),
        (Query(lastProgress={"sources": [{"endOffset": {"offset": 1}, "latestOffset": "null"}]}), True),  # a poll
        (Query(), True),
        (Query(status={**WAITING, "isDataAvailable": True}), False),
        (Query(status={**WAITING, "message": "Initializing sources"}), False),
        (Query(isActive=False, error="down"), True),
    ],
)
def test_a_query_has_caught_up_when_it_has_read_its_log_to_the_end_or_cannot_read_it(
    group: QuerySupervisor, clock: Clock, stop: Stop, query: Query, has: bool
) -> None:
    group.add("dc1", Starts(clock, iter([query])))
    group.add("nothing to read", Starts(clock, forever(then=None)))
    seen: list[tuple[bool, ...]] = []
    clock.after(0.5, stop.set)
    names = ("dc1", "nothing to read")
    group.run_until_stopped(
        lambda: seen.append((group.have_caught_up(), *(group.has_caught_up(name) for name in names)))
    )
    assert seen[-1] == (has, has and query.error is None, True)


@pytest.mark.parametrize(("error", "has"), [(None, True), ("down", False)])
def test_a_query_that_was_to_read_no_further_has_read_its_log_when_it_has_ended(
    group: QuerySupervisor, clock: Clock, error: str | None, has: bool
) -> None:
    """Whichever comes first, and is waiting for the other."""
    busy = {**WAITING, "isDataAvailable": True}
    first, query = Query(status=busy), Query(status=busy)
    group.add("dc1", Starts(clock, iter([first])))
    group.add("dc2", Starts(clock, iter([query])))
    seen: list[bool] = []
    clock.after(1, lambda: seen.append(group.has_read("dc2")))
    clock.after(2, lambda: query.end(error) if error else query.end())
    clock.after(3, lambda: seen.append(group.has_read("dc2")))
    clock.after(4, first.end)
    group.run_once()
    assert seen == [False, has]
    with pytest.raises(StopRequestedError):
        group.has_read("dc2")


def test_a_query_that_comes_to_nothing_late_is_waited_for_by_none(group: QuerySupervisor, clock: Clock) -> None:
    first = Query(status={**WAITING, "isDataAvailable": True})
    group.add("dc1", Starts(clock, iter([first])))
    group.add("dc2", Mock(start=lambda: None if may_end.wait(60) else first))  # in a thread of its own
    may_end, seen = threading.Event(), list[bool]()
    clock.after(1, lambda: (may_end.set(), time.sleep(0.2)))
    clock.after(3, lambda: seen.append(group.has_read("dc2")))
    clock.after(4, first.end)
    group.run_once()
    assert seen == [True]


def test_a_query_that_ends_to_be_restarted_has_not_read_its_log(
    group: QuerySupervisor, clock: Clock, stop: Stop
) -> None:
    busy = {**WAITING, "isDataAvailable": True}
    first, seen = Query(status=busy), list[bool]()
    group.add("dc1", Starts(clock, iter([first, Query(status=busy)])))
    clock.after(1, lambda: (group.restart("dc1"), first.end(), seen.append(group.has_read("dc1"))))
    run_for(group, clock, stop, 3)
    assert seen == [False]


def test_a_micro_batch_that_waits_when_the_job_is_to_end_ends_with_it(
    group: QuerySupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_supervisor, "silence_batches", silent := Mock())

    def function(batch: Any, batch_id: int) -> None:
        group.stop()
        group.has_read("dc1")

    with pytest.raises(StopRequestedError):
        group.stop_between_batches(function)(MagicMock(), 0)
    assert silent.called, "Spark's log does not tell of it as of a failure"


def test_a_query_that_is_restarted_ends_between_two_batches_and_restarts_without_a_pause(
    group: QuerySupervisor, clock: Clock, stop: Stop, caplog: pytest.LogCaptureFixture
) -> None:
    busy = Query(status={**WAITING, "isTriggerActive": True})
    starts = Starts(clock, iter([busy, Query()]))
    group.add("dc1", starts)
    clock.after(5, lambda: busy.status.update(isTriggerActive=False))
    ended_at: list[float] = []
    busy.stop = lambda: (ended_at.append(clock.seconds), busy.end())  # type: ignore[method-assign,assignment,return-value]
    clock.after(1, lambda: group.restart("dc1"))
    clock.after(20, stop.set)
    group.run_until_stopped()
    assert ended_at == [pytest.approx(105, abs=0.3)]
    assert starts.times == [100, pytest.approx(ended_at[0], abs=0.3)]
    assert not caplog.records
    assert group.errors() == {}


def test_a_query_that_does_not_come_to_an_end_is_interrupted(group: QuerySupervisor, clock: Clock, stop: Stop) -> None:
    busy = Query(status={**WAITING, "isTriggerActive": True})
    group.add("dc1", starts := Starts(clock, iter([busy, Query()])))
    clock.after(1, lambda: group.restart("dc1", patience_seconds=7))
    run_for(group, clock, stop, 20)
    assert not busy.isActive
    assert starts.times == [100, pytest.approx(108, abs=0.5)]
