"""Requests of Offset Sync to a cluster: topics, log ends, committed offsets.

Every call returns by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; an error of a single group or partition is an entry of the answer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AclOperation, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.group_offsets import Coordinators
from offset_sync.kafka.requests import (
    LogEnds,
    NotAuthorizedError,
    Reach,
    TopicInfo,
)
from offset_sync.kafka.topic_requests import DEADLINE_S, EARLIEST, LATEST, allowed
from offset_sync.model.values import CONSUMER_OFFSETS, TopicPartition

_COMMIT_LOG_S = 5.0
_BITS = 2**64 - 1


class ClusterAdmin(Coordinators):
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; it needs no closing."""

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; brokers list no others."""
        ends_at = time.monotonic() + deadline
        found = allowed(self.described(self.topic_names(deadline), ends_at))
        return self._door.streams({name: _to_topic_info(each) for name, each in found.items() if not each.is_internal})

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return *topics* with id and partition count; those that do not exist are left out.

        If we may not describe a topic, it is unknown whether it exists, so its entry is the error.
        """
        return self._door.streams(self._described(self._door.topics(topics), deadline))

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read; a cluster without ACLs reports no rights."""
        ends_at = time.monotonic() + deadline
        found = allowed(self.described(self._door.topics(topics), ends_at, with_rights=True))
        rights: dict[str, Any] = {name: each.authorized_operations for name, each in found.items()}
        refused = [name for name, operations in rights.items() if operations and AclOperation.READ not in operations]
        return self._door.streams({name: NotAuthorizedError(self.alias, name, "Read") for name in refused})

    def partition_count(self, topic: str, deadline: float = DEADLINE_S) -> int | None:
        """Return how many partitions a topic of the cluster's own has, None if there is no such topic.

        The request does not create it. Raises NotAuthorizedError if we may not describe it: it must not be taken for
        absent then.
        """
        found = self._described([topic], deadline).get(topic)
        if isinstance(found, NotAuthorizedError):
            raise found
        return None if found is None else found.partitions

    def _described(self, topics: Iterable[str], deadline: float) -> dict[str, TopicInfo | NotAuthorizedError]:
        found = self.described(topics, time.monotonic() + deadline)
        return {
            name: each if isinstance(each, NotAuthorizedError) else _to_topic_info(each) for name, each in found.items()
        }

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S) -> dict[TopicPartition, LogEnds]:
        """Return the log ends of all partitions that answer.

        Left out are partitions that do not exist or may not be described, and those whose leader is away or silent: it
        does not hold up other partitions for long. Partitions without a leader are not requested, because librdkafka
        would let the whole request wait for them. The log start is read first, so if retention deletes in between it
        is too small, never too large.
        """
        ends_at, wanted = time.monotonic() + deadline, self._door.out(dict.fromkeys(partitions))
        leaders = self._leaders({each.topic for each in wanted}, ends_at)
        leaders = {each: leader for each, leader in leaders.items() if each in wanted}
        starts = self.offsets(leaders, EARLIEST, ends_at)
        stops = self.offsets({each: leaders[each] for each in starts}, LATEST, ends_at)
        return self._door.into(
            {
                each: LogEnds(starts[each].offset, max(starts[each].offset, stop.offset), stop.leader_epoch)
                for each, stop in stops.items()
            }
        )

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float = DEADLINE_S) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read, except where no leader answers.

        The stable end is read first, so if a transaction commits in between it is too small, never too large.
        """
        ends_at = time.monotonic() + deadline
        names = [name for name in self.topic_names(deadline) if is_wanted(self._door.stream(name))]
        leaders = self._leaders(names, ends_at)
        stable = self.offsets(leaders, LATEST, ends_at, isolation_level=IsolationLevel.READ_COMMITTED)
        high = self.offsets({each: leaders[each] for each in stable}, LATEST, ends_at)
        return self._door.into(
            {each: Reach(stable[each].offset, max(stable[each].offset, high[each].offset)) for each in high}
        )

    def _leaders(self, topics: Iterable[str], ends_at: float) -> dict[TopicPartition, int]:
        """Return the broker id of the leader of each partition that has one now."""
        described: dict[str, Any] = {**allowed(self.described(topics, ends_at))}
        return {
            TopicPartition(name, each.id): each.leader.id
            for name, topic in sorted(described.items())
            for each in topic.partitions
            if each.leader is not None
        }


def commit_log_ends(admin: ClusterAdmin) -> list[int | None]:
    """Return the log end of each partition of ``__consumer_offsets``, None without a leader.

    Empty where the topic does not exist. Raises ClusterError where the cluster does not answer.
    """
    count = admin.partition_count(CONSUMER_OFFSETS, _COMMIT_LOG_S) or 0
    partitions = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
    ends = admin.ends(partitions, _COMMIT_LOG_S)
    return [ends[each].log_end if each in ends else None for each in partitions]


def _to_topic_info(description: TopicDescription) -> TopicInfo:
    """Return id and partition count."""
    topic_id: Any = description.topic_id  # the client's type stubs do not have the two methods
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()  # signed
    return TopicInfo(str(uuid.UUID(int=(high & _BITS) << 64 | low & _BITS)), len(description.partitions))
