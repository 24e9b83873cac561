"""Requests of Offset Sync to a cluster: topics, log ends, committed offsets.

Every call returns by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; an error of a single group or partition is an entry of the answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from confluent_kafka import IsolationLevel

from offset_sync.kafka.clients import opening
from offset_sync.kafka.group_offsets import (
    NOT_ASKED,
    REQUEST_S,
    GroupAnswer,
    GroupOffsets,
    Parts,
    RequestFailure,
    errors_by_partition,
    is_unreachable,
    is_worth_repeating,
    needs_new_client,
)
from offset_sync.kafka.requests import (
    ABSENT_TOPIC,
    GROUP_REFUSED,
    RETRIABLE,
    UNSTABLE,
    Committed,
    Door,
    Errors,
    LogEnds,
    ManyGroups,
    NotAuthorizedError,
    Reach,
    SilentError,
    TopicInfo,
    TransientError,
    attempts,
    invalid_group,
    invalid_write,
    missing_right,
    partition_of,
    with_remedy,
)
from offset_sync.kafka.topic_requests import DEADLINE_S, EARLIEST, LATEST, TopicRequests, allowed
from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetWrite, TopicPartition

_COMMIT_LOG_S = 5.0
_UNSTABLE_PATIENCE_S = 2.0  # a transaction ends at once or hangs for minutes; a batch must not wait for the latter
_PROOF_SHARE = 0.2  # of a deadline, reserved to check whether the whole cluster is silent or only some coordinators
_SHOWN_CHARACTERS = 80
_NO_NAME = "UNKNOWN_TOPIC_OR_PART"
"""The error for a stream without a topic at the cluster."""
_GROUP_OPTIONS = {"group.id": "offset-sync-admin", "enable.auto.commit": "false"}  # never joined; see librdkafka.py


class ClusterAdmin(TopicRequests):
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; it needs no closing.

    Arguments and results are streams, see :class:`Door`; by default every topic is its own stream.
    """

    def __init__(
        self,
        alias: str,
        options: Mapping[str, str],
        names: Names = SAME_NAMES,
        *,
        at_once: ManyGroups | None = None,
    ) -> None:
        super().__init__(alias, options)
        self.take_names(names)
        self._at_once, self._connecting = at_once, threading.Lock()
        self._connected: GroupOffsets | None = None

    def take_names(self, names: Names) -> None:
        """Use *names*, which know more by now."""
        self._door = Door(self.alias, names)

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; brokers list no others."""
        ends_at = time.monotonic() + deadline
        found = allowed(self.described(self.topic_names(deadline), ends_at))
        return self._door.streams({name: each for name, each in found.items() if not each.is_internal})

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return *topics* with id and partition count; those that do not exist are left out.

        If we may not describe a topic, it is unknown whether it exists, so its entry is the error.
        """
        return self._door.streams(self.described(self._door.topics(topics), time.monotonic() + deadline))

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read; a cluster without ACLs reports no rights."""
        ends_at = time.monotonic() + deadline
        found = allowed(self.described(self._door.topics(topics), ends_at, with_rights=True))
        refused = [name for name, each in found.items() if each.operations and "READ" not in each.operations]
        return self._door.streams({name: NotAuthorizedError(self.alias, name, "Read") for name in refused})

    def partition_count(self, topic: str, deadline: float = DEADLINE_S) -> int | None:
        """Return how many partitions a topic of the cluster's own has, None if there is no such topic.

        The request does not create it. Raises NotAuthorizedError if we may not describe it: it must not be taken for
        absent then.
        """
        found = self.described([topic], time.monotonic() + deadline).get(topic)
        if isinstance(found, NotAuthorizedError):
            raise found
        return None if found is None else found.partitions

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
        described = allowed(self.described(topics, ends_at))
        return {
            TopicPartition(name, number): leader
            for name in sorted(described)
            for number, leader in described[name].leaders.items()
        }

    def committed_offsets(
        self, groups: Sequence[str], deadline: float = DEADLINE_S
    ) -> dict[str, dict[TopicPartition, Committed] | ClusterError]:
        """Return what each group has committed; a group that does not exist has committed nothing.

        Reads are stable: while a partition has a pending transactional commit the group is read again, for at most two
        seconds, and then it is an error. So it errs to an error rather than to a value about to be replaced. The error
        is a TransientError if the next call may succeed. One is raised if the cluster does not answer at all.
        """
        refused = {group: reason for group in groups if (reason := invalid_group(group)) is not None}
        pending = [group for group in dict.fromkeys(groups) if group not in refused]
        answers = dict[str, GroupAnswer](self._at_once.read(pending, deadline) if self._at_once else {})
        pending = [group for group in pending if group not in answers]
        asked = bool(pending)
        ends_at = time.monotonic() + deadline * (1 - _PROOF_SHARE)
        patient_until = time.monotonic() + min(deadline / 3, _UNSTABLE_PATIENCE_S)
        for _ in attempts(ends_at) if pending else ():
            client = self._coordinators()
            found = client.read(pending, ends_at)
            self._check(client, found.values())
            answers |= found
            is_patient = time.monotonic() < patient_until
            pending = [group for group in pending if is_worth_repeating(answers[group], is_patient)]
            if not pending:
                break
        if asked and all(is_unreachable(answer) for answer in answers.values()):
            try:
                self.metadata(deadline * _PROOF_SHARE)
            except ClusterError as error:
                said = f"no answer within {deadline:g} s from {self._options.get('bootstrap.servers')}: {error.message}"
                raise TransientError(self.alias, said) from error
        read = {group: self._to_committed(group, answer) for group, answer in answers.items()}
        return read | {group: self._group_error(group, reason) for group, reason in refused.items()}

    def write_offsets(
        self,
        writes: Mapping[str, Sequence[OffsetWrite]],
        deadline: float = DEADLINE_S,
        may_send: Callable[[], bool] = lambda: True,
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets with a single attempt; the caller has to read before it retries.

        Offsets are stored with the write's metadata and leader epoch. An error of a request, of which a large group has
        several, is given to each of its partitions; after an UNREACHABLE one they may have been written. ClusterError:
        no request can be made for the group id. *may_send* is called before each request: REQUEST_NOT_SENT if it
        returns False.
        """
        answer: dict[str, Errors | ClusterError] = {}
        client, parts = self._coordinators(), list[Sequence[OffsetWrite]]()
        for group, wanted in writes.items():
            if (reason := invalid_group(group)) is not None:
                answer[group] = self._group_error(group, reason)
                continue
            named = {partition_of(each): self._named(each) for each in wanted}
            answer[group] = {place: each if isinstance(each, str) else None for place, each in named.items()}
            parts += client.parts.of(each for each in named.values() if not isinstance(each, str))
        found = self._written(client, parts, time.monotonic() + deadline, may_send)
        for part, written in zip(parts, found, strict=True):
            errors = answer[part[0].group_id]
            assert not isinstance(errors, ClusterError)
            by_partition = errors_by_partition([partition_of(each) for each in part], written)
            noted = client.parts.noted(part, by_partition)
            errors |= self._door.into({each: with_remedy(self.alias, error) for each, error in noted.items()})
        return answer

    def _named(self, write: OffsetWrite) -> OffsetWrite | str:
        """Return *write* with the cluster's name of its topic, or why it cannot be sent."""
        name = self._door.name(write.topic)
        if name is None:
            return _NO_NAME
        named = write if name == write.topic else replace(write, topic=name)
        return invalid_write(named) or named

    def _written(
        self, client: GroupOffsets, parts: Parts, ends_at: float, may_send: Callable[[], bool]
    ) -> list[GroupAnswer]:
        if not parts:
            return []
        is_connected = client.cluster_id(min(REQUEST_S, max(0.0, ends_at - time.monotonic())))
        self._check(client, ())
        if not is_connected:
            return [NOT_ASKED for _ in parts]
        self._check(client, found := client.write(parts, ends_at, may_send))
        return found

    def _coordinators(self) -> GroupOffsets:
        with self._connecting:
            if self._connected is None:
                with opening(self.alias, self._options):
                    self._connected = GroupOffsets({**_GROUP_OPTIONS, **self._options})
            return self._connected

    def _check(self, client: GroupOffsets, answers: Iterable[GroupAnswer]) -> None:
        """Drop *client* if a coordinator has moved or does not answer, or it is of another cluster.

        librdkafka caches coordinators: outside of transactions also one that answers NOT_COORDINATOR, and one that was
        away for a moment, for whose abandoned connection it waits. Only a new client looks them up again.
        """
        is_over = True
        try:
            self.refuse_others(client.cluster_id())
            is_over = any(needs_new_client(answer) for answer in answers)
        finally:
            if is_over:
                with self._connecting:
                    self._connected = None

    def _to_committed(self, group: str, answer: GroupAnswer) -> dict[TopicPartition, Committed] | ClusterError:
        if isinstance(answer, RequestFailure):
            if answer.error == GROUP_REFUSED:
                return self._group_error(group, f"{GROUP_REFUSED}: {missing_right('group', 'Describe')}")
            kind = TransientError if answer.error in RETRIABLE else ClusterError
            reason = f"{answer.error}: {answer.message}"
            return self._group_error(group, reason, SilentError if is_unreachable(answer) else kind)
        for each in answer:
            if each.error is not None and each.error not in ABSENT_TOPIC:
                kind = TransientError if each.error in RETRIABLE - {UNSTABLE} else ClusterError
                return self._group_error(group, f"{each.error} for {each.topic}-{each.partition}", kind)
        found = {
            TopicPartition(each.topic, each.partition): Committed(each.offset, each.metadata, each.leader_epoch)
            for each in answer
            if each.offset >= 0 and each.error is None
        }
        return self._door.into(found)

    def _group_error(self, group: str, reason: str, kind: type[ClusterError] = ClusterError) -> ClusterError:
        return kind(self.alias, f"group {group[:_SHOWN_CHARACTERS]!a}: {reason}")


def commit_log_ends(admin: ClusterAdmin) -> list[int | None]:
    """Return the log end of each partition of ``__consumer_offsets``, None without a leader.

    Empty where the topic does not exist. Raises ClusterError where the cluster does not answer.
    """
    count = admin.partition_count(CONSUMER_OFFSETS, _COMMIT_LOG_S) or 0
    partitions = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
    ends = admin.ends(partitions, _COMMIT_LOG_S)
    return [ends[each].log_end if each in ends else None for each in partitions]
