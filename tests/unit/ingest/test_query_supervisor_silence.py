"""A cluster that does not answer, or whose query does not end, holds up no query of another cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from fakes.streaming_query import Query
from offset_sync.ingest.query_supervisor import QuerySupervisor

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


@contextmanager
def running(group: QuerySupervisor, stop: threading.Event, every_poll: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=group.run_until_stopped, args=(every_poll,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.fixture
def silent() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.answers.set()


@pytest.fixture
def fine() -> Cluster:
    cluster = Cluster()
    cluster.answers.set()
    return cluster


def test_others_are_started_and_started_again_while_one_is_silent(silent: Cluster, fine: Cluster) -> None:
    group, polls = QuerySupervisor(stop := threading.Event()), list[bool]()
    for name, cluster in (("dc1", silent), ("dc2", fine)):
        group.add(name, cluster)  # type: ignore[arg-type]
    with running(group, stop, lambda: polls.append(group.have_caught_up())):
        until(lambda: fine.has_started)
        fine.starts[0].end("down")
        until(lambda: len(fine.starts) == 2)
        assert len(polls) > 1
        assert not any(polls), "the log end of a silent cluster is unknown: its log does not count as read"
        silent.answers.set()
        until(lambda: polls[-1])
        assert len(silent.starts) == 1


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


def test_others_go_on_while_a_query_that_is_to_be_restarted_does_not_end(fine: Cluster) -> None:
    may_end = threading.Event()
    stuck = Query()
    stuck.stop = lambda: (may_end.wait(30), stuck.end())  # type: ignore[method-assign,assignment,return-value]
    restarted = Cluster()
    restarted.start = iter([stuck, Query()]).__next__  # type: ignore[method-assign]
    group = QuerySupervisor(stop := threading.Event())
    for name, cluster in (("dc1", restarted), ("dc2", fine)):
        group.add(name, cluster)  # type: ignore[arg-type]
    with running(group, stop, lambda: None):
        until(lambda: fine.has_started)
        group.restart("dc1")
        fine.starts[0].end("down")
        until(lambda: len(fine.starts) == 2)
        assert stuck.isActive
        may_end.set()
        until(lambda: not stuck.isActive)
