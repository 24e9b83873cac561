"""A topic that may not be described is never taken for one that is not there: it is named, with what to grant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from builders.logs import log
from fakes.reconciler_site import Site, mirrored_site
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

PAY = TopicPartition("pay-in", 0)
REMEDY = (
    "clusters.dc1: topic orders: TOPIC_AUTHORIZATION_FAILED: the operation Describe is not allowed; grant Read, which "
    "implies it, to the principal of this program (docs/operations.md, Minimal ACLs), or exclude the topic in the "
    "configuration"
)


# What the client says


class Client:
    """An AdminClient that lists and describes the topics *known*, and answers *refused* ones as a broker does.

    *rights* are what it tells of a topic where it is asked for them: all, if nothing is said.
    """

    def __init__(
        self, known: Collection[str], refused: Collection[str], rights: Mapping[str, list[AclOperation] | None]
    ) -> None:
        self._known, self._refused, self._rights = known, refused, rights

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics=dict.fromkeys([*self._known, *self._refused]))

    def describe_topics(
        self, topics: Any, request_timeout: float, include_authorized_operations: bool = False
    ) -> dict[str, Future[Any]]:
        answers = {name: self._answer(name) for name in topics.topic_names}
        for name in self._known & answers.keys() if include_authorized_operations else ():
            answers[name].result().authorized_operations = self._rights.get(name, list(AclOperation))
        return answers

    def list_offsets(self, specs: Mapping[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        return {each: self._answer(each.topic, SimpleNamespace(offset=7, leader_epoch=None)) for each in specs}

    def _answer(self, name: str, answer: object = None) -> Future[Any]:
        bits = SimpleNamespace(get_most_significant_bits=lambda: 0, get_least_significant_bits=lambda: 5)
        led = [SimpleNamespace(id=0, leader=SimpleNamespace(id=1))]
        future: Future[Any] = Future()
        if name in self._known:
            future.set_result(answer or SimpleNamespace(topic_id=bits, partitions=led, is_internal=False))
        else:
            code = "TOPIC_AUTHORIZATION_FAILED" if name in self._refused else "UNKNOWN_TOPIC_OR_PART"
            future.set_exception(KafkaException(KafkaError(getattr(KafkaError, code))))
        return future


def admin_of(*known: str, refused: Collection[str] = (), **rights: list[AclOperation] | None) -> ClusterAdmin:
    admin = ClusterAdmin("dc1", {})
    admin._topics._requests.__dict__["_client"] = Client(set(known), refused, rights)
    return admin


def test_a_topic_that_may_not_be_described_is_an_error_and_one_that_is_not_there_is_left_out() -> None:
    found = admin_of("pay", refused=["orders"]).describe(["pay", "orders", "nowhere"])
    assert set(found) == {"pay", "orders"}
    assert (isinstance(found["orders"], NotAuthorizedError), str(found["orders"])) == (True, REMEDY)
    assert not isinstance(found["pay"], ClusterError)
    assert found["pay"].partitions == 1


def test_the_partitions_of_a_topic_that_may_not_be_described_are_an_error_and_not_none() -> None:
    admin = admin_of(refused=["__consumer_offsets"])
    with pytest.raises(NotAuthorizedError, match=r"topic __consumer_offsets: .* Describe .* grant Read") as caught:
        admin.partition_count("__consumer_offsets")
    assert "exclude" not in str(caught.value)
    assert admin.partition_count("nowhere") is None


def test_what_may_be_described_and_not_read_is_told_where_the_cluster_tells_of_rights() -> None:
    describe = [AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS]
    admin = admin_of("a", "b", "c", "d", refused=["e"], b=describe, c=None, d=[])
    found = admin.unreadable(["a", "b", "c", "d", "e", "nowhere"])
    assert list(found) == ["b"]
    assert str(found["b"]) == (
        "clusters.dc1: topic b: TOPIC_AUTHORIZATION_FAILED: the operation Read is not allowed; grant Read to the "
        "principal of this program (docs/operations.md, Minimal ACLs), or exclude the topic in the configuration"
    )


# What the jobs make of it


def two_topics() -> Site:
    site = mirrored_site()
    site.put(log("X", "X0:10"), PAY)
    site.put(log("Y", ". X0:10"), PAY)
    site.commit("X", "readers", 4)
    site.commit("X", "readers", 4, PAY)
    return site


@pytest.mark.parametrize("alias", ["X", "Y"])
def test_its_offsets_are_a_failure_that_says_why_and_other_topics_are_synced(alias: str) -> None:
    site = two_topics()
    site.clusters[alias].forbidden.add("orders")
    said = f"clusters.{alias}: orders may not be described"
    assert site.reconcile() == [f"X to Y: 1 offsets not committed, first readers/orders/0: {said}"]
    rows = {row.place.topic: (row.state, row.outcome, row.error) for row in site.rows()}
    assert rows == {"orders": ("TOPIC_UNAUTHORIZED", "FAILED", said), "pay-in": ("EXACT", "COMMITTED", None)}
    assert (site.target_offset("Y", "readers"), site.target_offset("Y", "readers", PAY)) == (None, 5)


# What maintenance makes of it
