"""Requests to coordinators: groups answered at once, commits in parts that fit, refusals with what to grant."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from fakes.target_cluster import Target, outcomes, write, write_batch
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import NOT_SENT, GroupOffsets
from offset_sync.kafka.requests import CommitParts, Errors, partition_of, with_remedy
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:9"}


ORDERS = TopicPartition("orders", 0)


def test_of_requests_those_are_not_sent_that_come_after_the_right_to_send_was_lost() -> None:
    """No broker listens there, so a request that is sent fails in another way."""
    asked = list[bool]()
    writes = [[write(group)] for group in "abc"]

    def may_send() -> bool:
        asked.append(not asked)
        return asked[-1]

    client = GroupOffsets({"bootstrap.servers": "127.0.0.1:1", "group.id": "unused"})
    found = client.write(writes, time.monotonic() + 0.3, may_send)
    assert found[0] != NOT_SENT
    assert found[1:] == [NOT_SENT] * 2
    assert asked == [True, False, False], "each request is asked for by itself"


def test_a_write_is_not_sent_before_it_is_known_which_cluster_it_would_go_to() -> None:
    asked = list[str]()
    found = ClusterAdmin("x", UNREACHABLE).write_offsets({"a": [write("a")]}, 0.3, lambda: bool(asked.append("a")))
    assert (found, asked) == ({"a": {ORDERS: "_TIMED_OUT"}}, [])


KAFKA_DEFAULT = 2**20 + 12


def of_partitions(count: int, metadata: str = "") -> list[OffsetWrite]:
    return [replace(write(partition=number), metadata=metadata) for number in range(count)]


class Coordinator(Target):
    """Takes batches of at most *most_bytes* and refuses others with *error*, as a whole."""

    def __init__(self, most_bytes: int, error: str = "UNKNOWN") -> None:
        super().__init__()
        self.most_bytes, self.error = most_bytes, error
        self.parts, self.requests, self.rounds = CommitParts(), list[int](), 0

    def write_offsets(self, writes, deadline, may_send):  # type: ignore[no-untyped-def]
        self.rounds += 1
        found: dict[str, Errors | ClusterError] = {}
        for group, wanted in writes.items():
            answers: Errors = {}
            for part in self.parts.of(wanted):
                noted = self.parts.noted(part, dict.fromkeys(map(partition_of, part), self._take(part)))
                answers |= {place: with_remedy("dc2", each) for place, each in noted.items()}
            found[group] = answers
        return found

    def _take(self, part: list[OffsetWrite]) -> str | None:
        self.requests.append(len(part))
        size = 61 + sum(
            70 + len(f"{each.group_id}{each.topic}{each.metadata}") for each in part
        )  # header, and records of value version 4
        if size > self.most_bytes:
            return self.error
        for each in part:
            self.put(each.group_id, each.partition, each.offset)
        return None


@pytest.mark.parametrize(
    ("partitions", "metadata", "most_requests"), [(300, "", 1), (7000, "", 2), (300, "x" * 4096, 3)]
)
def test_with_the_default_of_kafka_no_part_is_refused(partitions: int, metadata: str, most_requests: int) -> None:
    coordinator = Coordinator(KAFKA_DEFAULT)
    results = write_batch(coordinator, *of_partitions(partitions, metadata))
    assert set(outcomes(results)) == {Outcome.COMMITTED}
    assert (coordinator.rounds, len(coordinator.requests) <= most_requests) == (1, True)
    assert sum(coordinator.requests) == partitions


@pytest.mark.parametrize(
    ("error", "partitions", "most_bytes"),
    [("UNKNOWN", 300, 20_000), ("INVALID_COMMIT_OFFSET_SIZE", 300, 1_200), ("MSG_SIZE_TOO_LARGE", 2000, 20_000)],
)
def test_what_is_refused_is_committed_in_smaller_parts(partitions: int, most_bytes: int, error: str) -> None:
    coordinator = Coordinator(most_bytes, error)
    results = write_batch(coordinator, *of_partitions(partitions))
    assert set(outcomes(results)) == {Outcome.COMMITTED}
    assert coordinator.offsets["group"].keys() == {TopicPartition("orders", number) for number in range(partitions)}
    assert len(coordinator.requests) < partitions / 3
    assert coordinator.seconds < 6
    before = len(coordinator.requests)
    write_batch(coordinator, *(write("next", number) for number in range(partitions)))
    fitting = len(coordinator.requests) - before
    assert fitting * most_bytes < 4 * partitions * 100, "what it takes is known by now"


MANUAL = "to the principal of this program (docs/operations.md, Minimal ACLs)"


def test_an_error_of_a_partition_goes_on_with_the_right_and_others_stay_as_they_are() -> None:
    said = with_remedy("dc2", "GROUP_AUTHORIZATION_FAILED")
    what = "the operation Read is not allowed; grant Read on the group"
    assert said == f"GROUP_AUTHORIZATION_FAILED: clusters.dc2: {what} {MANUAL}"
    assert str(with_remedy("dc2", "TOPIC_AUTHORIZATION_FAILED")).startswith("TOPIC_AUTHORIZATION_FAILED: ")
    assert str(with_remedy("dc2", "GROUP_ID_NOT_FOUND")).endswith("another id, or list it in groups.exclude")
    # Compared with the names of errors elsewhere, so these must not grow.
    assert [with_remedy("dc2", error) for error in ("UNKNOWN_MEMBER_ID", None)] == ["UNKNOWN_MEMBER_ID", None]
