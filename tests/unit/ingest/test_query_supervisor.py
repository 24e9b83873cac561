"""Queries side by side, with queries and a clock in memory: who is started when, and how all of them end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unittest.mock import MagicMock

import pytest

from fakes.streaming_query import WAITING, Clock, Query, Starts, Stop
from offset_sync.ingest import query_supervisor
from offset_sync.ingest.query_supervisor import (
    LONGEST_BACK_OFF_SECONDS,
    QuerySupervisor,
    StopRequestedError,
    has_caught_up,
)
from offset_sync.model.errors import ClusterError, TakenOverError

Run = Callable[[float], None]
BUSY = {**WAITING, "isTriggerActive": True}


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


@pytest.fixture
def run_for(group: QuerySupervisor, clock: Clock, stop: Stop) -> Run:
    """Run the queries for so many seconds."""

    def run(seconds: float) -> None:
        clock.after(seconds, stop.set)
        group.run_until_stopped()

    return run


def forever(*first: Query | Exception | None, then: Query | Exception | None) -> Iterator[Query | Exception | None]:
    yield from first
    while True:
        yield then


def ends_when(query: Query, clock: Clock) -> list[float]:
    """Return when *query* is told to end, in seconds."""
    at: list[float] = []
    query.stop = lambda: (at.append(clock.seconds - 100), query.end())  # type: ignore[method-assign,assignment,return-value]
    return at


def test_a_query_that_cannot_be_started_is_tried_with_longer_and_longer_pauses(
    group: QuerySupervisor, clock: Clock, run_for: Run
) -> None:
    broken, fine = Starts(clock, forever(then=OSError("no brokers"))), Starts(clock, iter([Query()]))
    nothing = Starts(clock, forever(None, None, None, then=Query()))  # there is nothing to read yet: no error
    for name, starts in (("dc1", broken), ("dc2", fine), ("dc3", nothing)):
        group.add(name, starts)
    run_for(250)
    assert broken.gaps() == [1, 2, 4, 8, 16, 32, *[round(LONGEST_BACK_OFF_SECONDS)] * 3]
    assert group.errors() == {"dc1": "no brokers"}
    assert (len(fine.times), nothing.gaps()) == (1, [1, 1, 1])


# Stopping


@pytest.mark.parametrize(("done_after", "ends_at"), [(15, 15), (999, 70)], ids=["in time", "never"])
def test_stopping_lets_the_micro_batch_in_hand_finish_for_a_while(
    group: QuerySupervisor, clock: Clock, run_for: Run, done_after: float, ends_at: float
) -> None:
    query = Query(status=dict(BUSY))
    group.add("dc1", Starts(clock, iter([query])))
    ended_at = ends_when(query, clock)
    clock.after(done_after, lambda: query.status.update(isTriggerActive=False))
    run_for(10)
    assert ended_at == [pytest.approx(ends_at, abs=0.5)]


def test_a_micro_batch_that_finds_the_driver_taken_over_ends_the_job_quietly_and_none_begins_after_it(
    group: QuerySupervisor, stop: Stop, monkeypatch: pytest.MonkeyPatch
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


# Once


def test_once_waits_for_all_and_says_what_failed(group: QuerySupervisor, clock: Clock) -> None:
    fine, failing = Query(), Query()
    results: list[Query | Exception | None] = [fine, failing, OSError("no brokers\nat all"), None]
    for number, result in enumerate([*results, ClusterError("dc5", "refused")], 1):
        group.add(f"dc{number}", Starts(clock, iter([result])))
    clock.after(5, lambda: failing.end("ValueError: bad"))
    clock.after(9, fine.end)
    found = group.run_once()
    assert found == {"dc2": "ValueError: bad", "dc3": "no brokers", "dc5": "clusters.dc5: refused"}
    assert round(clock.seconds) == 109
    named = ["clusters.dc2: ValueError: bad", "clusters.dc3: no brokers", "clusters.dc5: refused"]
    assert group.failures() == named, "each its cluster once"


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
    ],
)
def test_a_query_has_caught_up_when_it_has_read_its_log_to_the_end(query: Query, has: bool) -> None:
    assert has_caught_up(query) == has  # type: ignore[arg-type]


def test_one_that_cannot_read_its_log_is_not_waited_for_and_has_not_read_it(
    group: QuerySupervisor, clock: Clock, run_for: Run
) -> None:
    group.add("dc1", Starts(clock, iter([Query(isActive=False, error="down")])))
    group.add("nothing to read", Starts(clock, forever(then=None)))
    run_for(0.5)
    assert group.have_caught_up()
    assert [group.has_caught_up(name) for name in ("dc1", "nothing to read")] == [False, True]


PATIENCE_S = 10.0


@dataclass
class Cluster:
    """A cluster whose queries start when the test lets them; it counts them."""

    answers: threading.Event = field(default_factory=threading.Event)
    starts: list[Query] = field(default_factory=list)

    def start(self) -> Query:
        self.answers.wait(30)
        self.starts.append(Query())
        return self.starts[-1]

    @property
    def has_started(self) -> bool:
        return bool(self.starts)


def until(is_so: Callable[[], object]) -> None:
    ends_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


@pytest.fixture
def silent() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.answers.set()


@pytest.mark.parametrize("once", [True, False])
def test_a_stop_does_not_wait_for_a_silent_cluster_and_its_query_is_ended_when_it_comes(
    silent: Cluster, once: bool
) -> None:
    group = QuerySupervisor(stop := threading.Event())
    group.add("dc1", silent)  # type: ignore[arg-type]
    threading.Timer(0.3, stop.set).start()
    if once:
        assert group.run_once() == {"dc1": "stopped before its end was reached"}
    else:
        group.run_until_stopped()
    assert not silent.has_started
    silent.answers.set()
    until(lambda: silent.has_started and not silent.starts[0].isActive)
