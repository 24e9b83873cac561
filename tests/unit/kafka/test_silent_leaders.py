"""A leader that does not answer keeps only its own partitions unknown; what the others say counts, and soon."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from weakref import proxy

import pytest
from confluent_kafka import KafkaError, KafkaException

from offset_sync.kafka import topic_requests
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LONGEST_S, LogEnds, Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

PLACES = [TopicPartition("orders", number) for number in range(6)]
EVEN = PLACES[::2]


class Client:
    """An AdminClient of two brokers, which lead every other partition; *says* tells what each answers, in turn.

    None is no answer, an error name that error, a number an offset.
    """

    def __init__(self, says: Mapping[int, Iterator[int | str | None]]) -> None:
        self.says, self.asked, self.silent_brokers = says, list[tuple[int, int]](), 0
        self.opened = 0

    def open(self) -> Any:
        """Return a client of the same cluster: another one each time."""
        self.opened += 1
        return proxy(self)

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics={"orders": None})

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, Future[Any]]:
        assert request_timeout == LONGEST_S, "a time that is up inside the client may end the process"
        if self.silent_brokers:
            self.silent_brokers -= 1
            return {"orders": Future()}
        return {"orders": answer_of(self._topic())}

    def _topic(self) -> Any:
        bits = SimpleNamespace(get_most_significant_bits=lambda: 0, get_least_significant_bits=lambda: 5)
        led = [SimpleNamespace(id=each.partition, leader=SimpleNamespace(id=each.partition % 2)) for each in PLACES]
        return SimpleNamespace(topic_id=bits, partitions=led, is_internal=False)

    def list_offsets(self, specs: Mapping[Any, Any], request_timeout: float, **_: Any) -> dict[Any, Future[Any]]:
        assert request_timeout == LONGEST_S
        (leader,) = {each.partition % 2 for each in specs}
        self.asked.append((leader, len(specs)))
        said = next(self.says[leader])
        return {each: offset_of(said) for each in specs}


def answer_of(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(answer)
    return future


def offset_of(said: int | str | None) -> Future[Any]:
    if isinstance(said, int):
        return answer_of(SimpleNamespace(offset=said, leader_epoch=3))
    future: Future[Any] = Future()
    if said is not None:
        future.set_exception(KafkaException(KafkaError(getattr(KafkaError, said))))
    return future


def always(said: int | str | None) -> Iterator[int | str | None]:
    while True:
        yield said


def admin_of(even: Iterator[int | str | None], odd: Iterator[int | str | None]) -> tuple[ClusterAdmin, Client]:
    admin, client = ClusterAdmin("dc1", {}), Client({0: even, 1: odd})
    admin._topics._requests._open = client.open  # type: ignore[method-assign]
    return admin, client


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_requests, "OTHERS_S", 0.2)


def test_the_partitions_of_a_silent_leader_are_left_out_and_the_others_wait_only_a_moment() -> None:
    admin, client = admin_of(always(7), always(None))
    began = time.monotonic()
    assert admin.ends(PLACES, deadline=30) == {each: LogEnds(7, 7, 3) for each in EVEN}
    assert admin.reaches(lambda name: True, deadline=30) == {each: Reach(7, 7) for each in EVEN}
    assert time.monotonic() - began < 10
    assert client.asked == [(0, 3), (1, 3), (0, 3)] * 2, "who is silent is not asked for the other end as well"


def test_a_leader_that_is_being_elected_is_asked_again() -> None:
    admin, client = admin_of(always(7), iter(["LEADER_NOT_AVAILABLE", 8, 9]))
    assert set(admin.ends(PLACES, deadline=30)) == set(PLACES)
    assert client.asked[:3] == [(0, 3), (1, 3), (1, 3)]


def test_an_error_that_no_repetition_mends_is_the_clusters() -> None:
    admin, _ = admin_of(always(7), always("_AUTHENTICATION"))
    with pytest.raises(ClusterError, match="_AUTHENTICATION for orders-1"):
        admin.ends(PLACES, deadline=30)


def test_one_that_may_not_be_described_or_is_gone_meanwhile_is_left_out() -> None:
    for error in ("TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART"):
        admin, _ = admin_of(always(7), always(error))
        assert set(admin.ends(PLACES, deadline=30)) == set(EVEN)


def test_a_client_that_was_answered_is_asked_again_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_requests, "TRY_S", 60.0)
    admin, client = admin_of(always(7), always(7))
    assert set(admin.describe(["orders"], deadline=10)) == {"orders"}
    monkeypatch.setattr(topic_requests, "TRY_S", 0.1)
    client.silent_brokers = 1
    assert set(admin.describe(["orders"], deadline=10)) == {"orders"}
    assert client.opened == 1


def test_a_client_with_abandoned_requests_is_replaced_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    admin, client = admin_of(always(7), always(None))
    assert set(admin.ends(PLACES, deadline=0.5)) == {each for each in PLACES if each.partition % 2 == 0}
    assert client.opened == 1
    monkeypatch.setattr(topic_requests, "_OLDEST_S", 0.0)
    admin.ends(PLACES, deadline=0.5)
    admin.describe(["orders"])
    assert client.opened > 1
    opened = client.opened
    admin.describe(["orders"])
    assert client.opened == opened, "only what is left unread makes a client old"
