"""A cluster is asked for its own id until a broker answers, up to the deadline."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from offset_sync.kafka import topic_requests
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LONGEST_S


class Client:
    """An AdminClient; *says* tells what it is answered each time: an id, an error's code, or None for silence."""

    def __init__(self, says: Iterator[str | int | None]) -> None:
        self.says = says

    def poll(self, timeout: float) -> int:
        return 0

    def describe_cluster(self, request_timeout: float) -> Future[Any]:
        assert request_timeout == LONGEST_S, "a time that is up inside the client may end the process"
        future, said = Future[Any](), next(self.says)
        if isinstance(said, int):
            future.set_exception(KafkaException(KafkaError(said)))
        elif said is not None:
            future.set_result(SimpleNamespace(cluster_id=said))
        return future


def asked(monkeypatch: pytest.MonkeyPatch, *says: str | int | None, deadline: float = 5.0) -> str:
    client = Client(iter(says))
    monkeypatch.setattr(topic_requests.TopicRequests, "_open", lambda _: client)
    monkeypatch.setattr(topic_requests, "TRY_S", 0.05)
    return ClusterAdmin("dc1", {}).cluster_id(deadline)


def test_a_cluster_says_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "Qm9va1N0b3JlLUthZmthMQ") == "Qm9va1N0b3JlLUthZmthMQ"
    assert asked(monkeypatch, None, KafkaError._TRANSPORT, "id-1") == "id-1"
    monkeypatch.setattr(topic_requests.TopicRequests, "_open", lambda _: Client(iter(["id-2"])))
    assert ClusterAdmin("dc2", {}).cluster_id() == "id-2"
