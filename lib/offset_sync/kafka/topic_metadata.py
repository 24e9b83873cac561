"""What a cluster says about its topics: ids, partition counts, log ends."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AclOperation, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.kafka.topic_requests import EARLIEST, LATEST, TopicRequests, allowed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_BITS = 2**64 - 1


@dataclass(frozen=True)
class TopicInfo:
    """*topic_id* in canonical hexadecimal form (36 characters): another id is another topic of the same name."""

    topic_id: str
    partitions: int


@dataclass(frozen=True)
class LogEnds:
    """The offsets a partition holds, half-open; *log_end* is the high watermark.

    *leader_epoch* is the present one: another means that another leader was elected; None where nobody can tell.
    """

    log_start: int
    log_end: int
    leader_epoch: int | None = None


@dataclass(frozen=True)
class Reach:
    """How far a log can be read: up to *stable* if only committed records count, up to *high* otherwise.

    *stable* is the last stable offset, where the oldest open transaction begins; it is never above *high*.
    """

    stable: int
    high: int


class TopicMetadata:
    """What one cluster says about its topics. *deadline* is in seconds, from the call on.

    ClusterError is raised where the cluster does not answer in time.
    """

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self.alias = alias
        self._requests = TopicRequests(alias, options)

    def listed(self, deadline: float) -> dict[str, TopicInfo]:
        """Return id and partition count of every topic that we may describe and that is not internal."""
        ends_at = time.monotonic() + deadline
        described = allowed(self._requests.described(self._requests.names(ends_at), ends_at))
        return {name: _to_topic_info(topic) for name, topic in described.items() if not topic.is_internal}

    def cluster_id(self, deadline: float) -> str:
        """Return Kafka's own id of the cluster."""
        return self._requests.cluster_id(time.monotonic() + deadline)

    def is_answered(self, deadline: float) -> bool:
        """Return whether any broker answers anything."""
        try:
            self._requests.names(time.monotonic() + deadline)
        except ClusterError:
            return False
        return True

    def described(self, topics: Iterable[str], deadline: float) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return id and partition count of *topics*; those that do not exist are left out.

        If we may not describe a topic nobody can tell whether it exists, so its entry is the error.
        """
        found = self._requests.described(topics, time.monotonic() + deadline)
        return {
            name: each if isinstance(each, NotAuthorizedError) else _to_topic_info(each) for name, each in found.items()
        }

    def unreadable(self, topics: Iterable[str], deadline: float) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read; a cluster without ACLs reports no rights."""
        found = allowed(self._requests.described(topics, time.monotonic() + deadline, with_rights=True))
        rights: dict[str, Any] = {name: each.authorized_operations for name, each in found.items()}
        refused = [name for name, operations in rights.items() if operations and AclOperation.READ not in operations]
        return {name: NotAuthorizedError(self.alias, name, "Read") for name in refused}

    def partition_count(self, topic: str, deadline: float) -> int | None:
        """Return how many partitions there are, None if there is no such topic; asking does not create it.

        Raises NotAuthorizedError where we may not describe it, for then it must not be taken for absent.
        """
        found = self.described([topic], deadline).get(topic)
        if isinstance(found, NotAuthorizedError):
            raise found
        return None if found is None else found.partitions

    def ends(self, partitions: Iterable[TopicPartition], deadline: float) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; left out is what nobody can tell now, or what is not there.

        That are partitions that do not exist or may not be described, and those whose leader is away or silent: it
        keeps no other partition waiting for long. Partitions without a leader are not asked for, because librdkafka
        would let the whole request wait for them. The log start is read first, so if retention deletes in between it
        is too small, never too large.
        """
        ends_at = time.monotonic() + deadline
        wanted = set(partitions)
        described = allowed(self._requests.described({each.topic for each in wanted}, ends_at))
        leaders = {each: leader for each, leader in _leaders(described).items() if each in wanted}
        starts = self._requests.offsets(leaders, EARLIEST, ends_at)
        stops = self._requests.offsets({each: leaders[each] for each in starts}, LATEST, ends_at)
        return {
            each: LogEnds(starts[each].offset, max(starts[each].offset, end), epoch)
            for each, (end, epoch) in stops.items()
        }

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; left out is what nobody can tell now.

        The stable end is read first, so if a transaction commits in between it is too small, never too large.
        """
        ends_at = time.monotonic() + deadline
        names = [name for name in self._requests.names(ends_at) if is_wanted(name)]
        leaders = _leaders(allowed(self._requests.described(names, ends_at)))
        stable = self._requests.offsets(leaders, LATEST, ends_at, isolation_level=IsolationLevel.READ_COMMITTED)
        high = self._requests.offsets({each: leaders[each] for each in stable}, LATEST, ends_at)
        return {each: Reach(stable[each].offset, max(stable[each].offset, high[each].offset)) for each in high}


def _to_topic_info(description: TopicDescription) -> TopicInfo:
    """Return id and partition count."""
    topic_id: Any = description.topic_id  # the client's type stubs lack the two methods
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()  # signed
    return TopicInfo(str(uuid.UUID(int=(high & _BITS) << 64 | low & _BITS)), len(description.partitions))


def _leaders(described: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Return the number of the broker that leads each partition which has a leader now."""
    return {
        TopicPartition(name, each.id): each.leader.id
        for name, topic in sorted(described.items())
        for each in topic.partitions
        if each.leader is not None
    }
