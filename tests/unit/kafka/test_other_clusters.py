"""Clients whose addresses lead to another cluster than before: refused with the first answer, and replaced."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from confluent_kafka import ConsumerGroupState

from fakes.target_cluster import write
from offset_sync.kafka import log_reader, topic_requests
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import log_consumer
from offset_sync.kafka.requests import CommitParts
from offset_sync.kafka.topic_requests import TopicRequests
from offset_sync.model.errors import OtherClusterError
from offset_sync.model.values import CLUSTER_ID

OPTIONS = {"bootstrap.servers": "127.0.0.1:1"}
KNOWN = {**OPTIONS, CLUSTER_ID: "id-1"}


class Client:
    """An AdminClient that is connected to the cluster *id*."""

    def __init__(self, cluster_id: str) -> None:
        self.id = cluster_id

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics={"orders": None})

    def list_consumer_groups(self, request_timeout: float) -> Future[Any]:
        states = {"known": ConsumerGroupState.STABLE, "of an unknown state": None, "empty": ConsumerGroupState.EMPTY}
        listed = [SimpleNamespace(group_id=name, state=each) for name, each in states.items()]
        return done(SimpleNamespace(errors=[], valid=listed))


def done(answer: Any) -> Future[Any]:
    future = Future[Any]()
    future.set_result(answer)
    return future


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    """The clients that are opened, the next one first."""
    opened: list[Client] = []
    monkeypatch.setattr(topic_requests, "TRY_S", 0.0)
    monkeypatch.setattr(topic_requests, "open_client", lambda *_: opened.pop(0))
    monkeypatch.setattr(topic_requests, "cluster_id_of", lambda client, *_: client.id)
    return opened


def test_a_connected_client_that_is_led_elsewhere_is_refused_with_its_next_answer(clients: list[Client]) -> None:
    clients += [client := Client("id-1"), Client("id-1")]
    requests = TopicRequests("dc1", OPTIONS)  # its first answer is what it is compared with
    assert requests.topic_names() == ["orders"]
    client.id = "id-2"
    for ask in (requests.topic_names, requests.cluster_id, requests.groups):
        with pytest.raises(OtherClusterError, match="its id is id-2 and was id-1"):
            ask()
        clients.append(Client("id-1"))
    assert requests._client.id == "id-1", "which has started from bootstrap.servers"  # type: ignore[attr-defined]
    client.id = "id-1"
    assert requests.topic_names() == ["orders"]


def test_members_of_another_cluster_are_unknown(clients: list[Client]) -> None:
    clients += [client := Client("id-2"), Client("id-1")]
    admin = ClusterAdmin("dc1", KNOWN)
    with pytest.raises(OtherClusterError):
        admin.groups()
    client.id = "id-1"
    assert admin.groups() == {"known": True, "of an unknown state": True, "empty": False}


def test_offsets_of_another_cluster_are_neither_read_nor_written() -> None:
    coordinators = ClusterAdmin("dc1", KNOWN)
    client = MagicMock(parts=CommitParts())
    client.cluster_id.return_value = "id-2"
    client.read.return_value = {"g": []}
    for ask in (
        lambda: coordinators.committed_offsets(["g"], 5.0),
        lambda: coordinators.write_offsets({"g": [write("g")]}, 5.0, lambda: True),
    ):
        coordinators._connected = client
        with pytest.raises(OtherClusterError):
            ask()
        assert coordinators._connected is None, "the next client starts from bootstrap.servers"
    client.read.assert_called_once()
    client.write.assert_not_called()


def test_what_a_consumer_has_read_there_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "cluster_id_of", lambda consumer: "id-2")
    with pytest.raises(OtherClusterError), log_consumer("dc1", KNOWN, {}):
        pass
    with log_consumer("dc1", {**KNOWN, CLUSTER_ID: "id-2"}, {}):
        pass
