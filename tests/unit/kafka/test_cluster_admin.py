"""Topics and log ends as brokers tell them: a silent leader, a refusal, a topic that is not there."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from weakref import proxy

import pytest
from confluent_kafka import KafkaError, KafkaException

from offset_sync.kafka import topic_requests
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LONGEST_S, LogEnds, NotAuthorizedError, Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition

PLACES = [TopicPartition("orders", number) for number in range(6)]
EVEN = PLACES[::2]


class Client:
    """An AdminClient of two brokers, which lead every other partition of each topic.

    *says* tells what each of them answers, in turn: None is no answer, an error name that error, a number an offset.
    """

    def __init__(
        self,
        says: Mapping[int, Iterator[int | str | None]] | None = None,
        known: Collection[str] = ("orders",),
        refused: Collection[str] = (),
    ) -> None:
        self.says, self.known, self.refused = says or {}, known, refused
        self.asked, self.opened = list[tuple[int, int]](), 0

    def open(self) -> Any:
        """Return a client of the same cluster: another one each time."""
        self.opened += 1
        return proxy(self)

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics=dict.fromkeys([*self.known, *self.refused]))

    def describe_topics(self, topics: Any, request_timeout: float, **_: Any) -> dict[str, Future[Any]]:
        assert request_timeout == LONGEST_S, "a time that is up inside the client may end the process"
        return {name: self._described(name) for name in topics.topic_names}

    def _described(self, name: str) -> Future[Any]:
        if name not in self.known:
            return said("TOPIC_AUTHORIZATION_FAILED" if name in self.refused else "UNKNOWN_TOPIC_OR_PART")
        bits = SimpleNamespace(get_most_significant_bits=lambda: 0, get_least_significant_bits=lambda: 5)
        led = [SimpleNamespace(id=each.partition, leader=SimpleNamespace(id=each.partition % 2)) for each in PLACES]
        return said(SimpleNamespace(topic_id=bits, partitions=led, is_internal=False, authorized_operations=[]))

    def list_offsets(self, specs: Mapping[Any, Any], request_timeout: float, **_: Any) -> dict[Any, Future[Any]]:
        assert request_timeout == LONGEST_S
        (leader,) = {each.partition % 2 for each in specs}
        self.asked.append((leader, len(specs)))
        answer = next(self.says[leader])
        return {
            each: said(SimpleNamespace(offset=answer, leader_epoch=3) if isinstance(answer, int) else answer)
            for each in specs
        }


def said(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(answer, str):
        future.set_exception(KafkaException(KafkaError(getattr(KafkaError, answer))))
    elif answer is not None:
        future.set_result(answer)
    return future


def always(answer: int | str | None) -> Iterator[int | str | None]:
    while True:
        yield answer


def admin_of(client: Client) -> ClusterAdmin:
    admin = ClusterAdmin("dc1", {})
    admin._open = client.open  # type: ignore[method-assign]
    return admin


def led_by(even: Iterator[int | str | None], odd: Iterator[int | str | None]) -> tuple[ClusterAdmin, Client]:
    client = Client({0: even, 1: odd})
    return admin_of(client), client


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_requests, "OTHERS_S", 0.2)


def test_the_partitions_of_a_silent_leader_are_left_out_and_the_others_wait_only_a_moment() -> None:
    admin, client = led_by(always(7), always(None))
    began = time.monotonic()
    assert admin.ends(PLACES, deadline=30) == {each: LogEnds(7, 7, 3) for each in EVEN}
    assert admin.reaches(lambda name: True, deadline=30) == {each: Reach(7, 7) for each in EVEN}
    assert time.monotonic() - began < 10
    assert client.asked == [(0, 3), (1, 3), (0, 3)] * 2, "who is silent is not asked for the other end as well"


def test_a_leader_that_is_being_elected_is_asked_again_and_a_log_that_is_gone_or_refused_is_left_out() -> None:
    admin, client = led_by(always(7), iter(["LEADER_NOT_AVAILABLE", 8, 9]))
    assert set(admin.ends(PLACES, deadline=30)) == set(PLACES)
    assert client.asked[:3] == [(0, 3), (1, 3), (1, 3)]
    for error in ("TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PART"):
        assert set(led_by(always(7), always(error))[0].ends(PLACES, deadline=30)) == set(EVEN)
    with pytest.raises(ClusterError, match="_AUTHENTICATION for orders-1"):
        led_by(always(7), always("_AUTHENTICATION"))[0].ends(PLACES, deadline=30)


def test_a_client_with_abandoned_requests_is_replaced_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    admin, client = led_by(always(7), always(None))
    assert set(admin.ends(PLACES, deadline=0.5)) == set(EVEN)
    assert client.opened == 1
    monkeypatch.setattr(topic_requests, "_OLDEST_S", 0.0)
    admin.ends(PLACES, deadline=0.5)
    admin.describe(["orders"])
    assert client.opened > 1
    opened = client.opened
    admin.describe(["orders"])
    assert client.opened == opened, "only what is left unread makes a client old"


def test_a_topic_that_may_not_be_described_is_an_error_and_one_that_is_not_there_is_left_out() -> None:
    admin = admin_of(Client(known=["pay"], refused=["orders", CONSUMER_OFFSETS]))
    found = admin.describe(["pay", "orders", "nowhere"])
    assert set(found) == {"pay", "orders"}
    assert isinstance(found["orders"], NotAuthorizedError)
    assert str(found["orders"]).startswith(
        "clusters.dc1: topic orders: TOPIC_AUTHORIZATION_FAILED: the operation Describe"
    )
    with pytest.raises(NotAuthorizedError, match=r"topic __consumer_offsets: .* Describe .*commits: admin"):
        admin.partition_count(CONSUMER_OFFSETS)
    assert (admin.partition_count("nowhere"), admin.partition_count("pay")) == (None, 6)


def test_unless_every_broker_lists_its_groups_nothing_is_known_of_members() -> None:
    error = KafkaException(KafkaError(KafkaError._TRANSPORT))
    without_one = SimpleNamespace(errors=[error], valid=[SimpleNamespace(group_id="of others", state=None)])
    for answer in (said(without_one), said("_TRANSPORT"), said(None)):
        client: Any = Client()
        client.list_consumer_groups = lambda request_timeout, answer=answer: answer
        with pytest.raises(ClusterError, match="for ListGroups; check that all brokers run"):
            admin_of(client).groups(0.1)
