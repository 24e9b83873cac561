"""Requests of Offset Sync to a cluster: topics, log ends, committed offsets.

Every call returns by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; an error of a single group or partition is an entry of the answer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AclOperation, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.group_offsets import Coordinators
from offset_sync.kafka.librdkafka import CLIENT_OPTIONS
from offset_sync.kafka.requests import (
    Committed,
    Door,
    Errors,
    LogEnds,
    ManyGroups,
    NotAuthorizedError,
    Reach,
    TopicInfo,
    TopicNames,
    partition_of,
)
from offset_sync.kafka.topic_requests import EARLIEST, LATEST, TopicRequests, allowed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetWrite, TopicPartition

DEADLINE_S = 15.0
_COMMIT_LOG_S = 5.0
_NO_NAME = "UNKNOWN_TOPIC_OR_PART"
"""The error for a stream without a topic at the cluster."""
_BITS = 2**64 - 1
# Defaults that the caller's options override; short backoffs, to reconnect soon to a restarted broker.
_OPTIONS = {**CLIENT_OPTIONS, "reconnect.backoff.ms": "250", "reconnect.backoff.max.ms": "1000"}


class ClusterAdmin:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; it needs no closing.

    Arguments and results are streams, see :class:`Door`; *names* None: every topic is its own stream.
    """

    def __init__(
        self,
        alias: str,
        options: Mapping[str, str],
        names: TopicNames | None = None,
        *,
        at_once: ManyGroups | None = None,
    ) -> None:
        self.alias = alias
        self._door = Door(alias, names)
        self._requests = TopicRequests(alias, {**_OPTIONS, **options})
        self._coordinators = Coordinators(self._requests, {**_OPTIONS, **options}, at_once)

    def take_names(self, names: TopicNames) -> None:
        """Use *names*, which know more by now."""
        self._door = Door(self.alias, names)

    def cluster_id(self, deadline: float = DEADLINE_S) -> str:
        """Return Kafka's own id of the cluster."""
        return str(self._requests.cluster(time.monotonic() + deadline).cluster_id)

    def groups(self, deadline: float = DEADLINE_S) -> dict[str, bool]:
        """Return the groups with whether they have members; see :meth:`TopicRequests.groups`."""
        return self._requests.groups(time.monotonic() + deadline)

    def groups_of_all_types(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the groups of every type that we may describe; every broker also describes all of its groups."""
        return self._requests.groups_of_all_types(time.monotonic() + deadline)

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; brokers list no others."""
        ends_at = time.monotonic() + deadline
        found = allowed(self._requests.described(self._requests.names(ends_at), ends_at))
        return self._door.streams({name: _to_topic_info(each) for name, each in found.items() if not each.is_internal})

    def topic_names(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the cluster's own name of every topic that we may describe, including internal ones."""
        return self._requests.names(time.monotonic() + deadline)

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
        found = allowed(self._requests.described(self._door.topics(topics), ends_at, with_rights=True))
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
        found = self._requests.described(topics, time.monotonic() + deadline)
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
        starts = self._requests.offsets(leaders, EARLIEST, ends_at)
        stops = self._requests.offsets({each: leaders[each] for each in starts}, LATEST, ends_at)
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
        names = [name for name in self._requests.names(ends_at) if is_wanted(self._door.stream(name))]
        leaders = self._leaders(names, ends_at)
        stable = self._requests.offsets(leaders, LATEST, ends_at, isolation_level=IsolationLevel.READ_COMMITTED)
        high = self._requests.offsets({each: leaders[each] for each in stable}, LATEST, ends_at)
        return self._door.into(
            {each: Reach(stable[each].offset, max(stable[each].offset, high[each].offset)) for each in high}
        )

    def _leaders(self, topics: Iterable[str], ends_at: float) -> dict[TopicPartition, int]:
        """Return the broker id of the leader of each partition that has one now."""
        described: dict[str, Any] = {**allowed(self._requests.described(topics, ends_at))}
        return {
            TopicPartition(name, each.id): each.leader.id
            for name, topic in sorted(described.items())
            for each in topic.partitions
            if each.leader is not None
        }

    def committed_offsets(
        self, groups: Sequence[str], deadline: float = DEADLINE_S
    ) -> dict[str, dict[TopicPartition, Committed] | ClusterError]:
        """Return what each group has committed; see :meth:`Coordinators.committed_offsets`."""
        found = self._coordinators.committed_offsets(groups, deadline)
        return {g: each if isinstance(each, ClusterError) else self._door.into(each) for g, each in found.items()}

    def write_offsets(
        self,
        writes: Mapping[str, Sequence[OffsetWrite]],
        deadline: float = DEADLINE_S,
        may_send: Callable[[], bool] = lambda: True,
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets; see :meth:`Coordinators.write_offsets`."""
        door = self._door
        absent: dict[str, Errors] = {group: {} for group in writes}
        named: dict[str, list[OffsetWrite]] = {group: [] for group in writes}
        for group, wanted in writes.items():
            for each in wanted:
                if (name := door.name(each.topic)) is None:
                    absent[group][partition_of(each)] = _NO_NAME
                else:
                    named[group].append(each if name == each.topic else replace(each, topic=name))
        answers = self._coordinators.write_offsets(named, deadline, may_send)
        return {
            group: found if isinstance(found, ClusterError) else {**absent[group], **door.into(found)}
            for group, found in answers.items()
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
