"""A commit is cut into parts that fit into a batch of ``__consumer_offsets``, of whatever size a coordinator takes."""

from __future__ import annotations

import pytest

from fakes.target_cluster import Target, outcomes, write, write_batch
from offset_sync.kafka.requests import CommitParts, Errors, partition_of, with_remedy
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition

KAFKA_DEFAULT = 2**20 + 12


def of_partitions(count: int, metadata: str = "") -> list[OffsetWrite]:
    return [
        OffsetWrite("group", "orders", number, 50, None, write().rule, None, metadata=metadata)
        for number in range(count)
    ]


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
    ("partitions", "metadata", "most_requests"), [(8, "", 1), (300, "", 1), (7000, "", 2), (300, "x" * 4096, 3)]
)
def test_with_the_default_of_kafka_no_part_is_refused(partitions: int, metadata: str, most_requests: int) -> None:
    coordinator = Coordinator(KAFKA_DEFAULT)
    results = write_batch(coordinator, *of_partitions(partitions, metadata))
    assert set(outcomes(results)) == {Outcome.COMMITTED}
    assert (coordinator.rounds, len(coordinator.requests) <= most_requests) == (1, True)
    assert sum(coordinator.requests) == partitions


@pytest.mark.parametrize("error", ["UNKNOWN", "INVALID_COMMIT_OFFSET_SIZE", "MSG_SIZE_TOO_LARGE"])
@pytest.mark.parametrize(("partitions", "most_bytes"), [(300, 20_000), (300, 1_200), (7000, 20_000)])
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


def test_one_record_that_is_too_large_is_withheld_alone() -> None:
    coordinator = Coordinator(4_000)
    large = of_partitions(3, "x" * 4096)[1]
    writes = of_partitions(300)
    results = write_batch(coordinator, *(large if each.partition == 1 else each for each in writes))
    failed = [each for each in results if each.outcome is not Outcome.COMMITTED]
    assert [(each.partition, each.outcome) for each in failed] == [(1, Outcome.FAILED)]
    assert str(failed[0].error).startswith("UNKNOWN")
