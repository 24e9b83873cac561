"""What Offset Sync asks of a cluster: topics, log ends, committed offsets.

Every call ends by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; an error of a single group or partition is an entry of the answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from offset_sync.kafka.group_offsets import (
    Errors,
    GroupAnswer,
    GroupOffsets,
    Limits,
    RequestFailure,
    errors_by_partition,
    is_unreachable,
    is_worth_repeating,
    needs_new_client,
)
from offset_sync.kafka.librdkafka import CLIENT_OPTIONS, BindingError
from offset_sync.kafka.requests import (
    ABSENT_TOPIC,
    RETRIABLE,
    UNSTABLE,
    Committed,
    ManyGroups,
    NotAuthorizedError,
    SilentError,
    TransientError,
    attempts,
    group_refusal,
    invalid_group,
    invalid_write,
    with_remedy,
)
from offset_sync.kafka.topic_metadata import LogEnds, Reach, TopicInfo, TopicMetadata
from offset_sync.kafka.topic_names import Door, TopicNames
from offset_sync.model.errors import ClusterError, PlatformError
from offset_sync.model.values import OffsetWrite, TopicPartition

DEADLINE_S = 15.0
_REQUEST_S = 6.0  # above the broker's own offsets.commit.timeout.ms of 5 s, so that we get the broker's answer
_UNSTABLE_PATIENCE_S = 2.0  # a transaction ends at once or hangs for minutes; a batch must not wait for the latter
_PROOF_SHARE = 0.2  # of a deadline, kept to find out whether the whole cluster is silent or only some coordinators
_SHOWN_CHARACTERS = 80
_NO_NAME = "UNKNOWN_TOPIC_OR_PART"
"""The error for a stream that a cluster has no topic for."""
# Defaults that the caller's options override. A broker that comes back has to be found soon. The group is never joined;
# without an id librdkafka crashes (librdkafka.py).
_OPTIONS = {**CLIENT_OPTIONS, "reconnect.backoff.ms": "250", "reconnect.backoff.max.ms": "1000"}
_GROUP_OPTIONS = {"group.id": "offset-sync-admin", "enable.auto.commit": "false"}


class ClusterAdmin:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; it needs no closing.

    It is asked about streams and answers so, see :class:`Door`; *names* None: every topic is its own stream.
    """

    def __init__(
        self,
        alias: str,
        options: Mapping[str, str],
        names: TopicNames | None = None,
        *,
        requests_in_flight: int = 500,
        at_once: ManyGroups | None = None,
    ) -> None:
        self.alias = alias
        self._door = Door(alias, names)
        self._topics = TopicMetadata(alias, {**_OPTIONS, **options})
        self._coordinators = Coordinators(self._topics, {**_OPTIONS, **options}, requests_in_flight, at_once)

    def take_names(self, names: TopicNames) -> None:
        """Go by *names*, which know more by now."""
        self._door = Door(self.alias, names)

    def cluster_id(self, deadline: float = DEADLINE_S) -> str:
        """Return Kafka's own id of the cluster."""
        return self._topics.cluster_id(deadline)

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; others do not show in a list."""
        return self._door.streams(self._topics.listed(deadline))

    def topic_names(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the same by the cluster's own names."""
        return list(self._topics.listed(deadline))

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return what is known of *topics*, or the error if we may not describe them; unknown ones are left out."""
        return self._door.streams(self._topics.described(self._door.topics(topics), deadline))

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read."""
        return self._door.streams(self._topics.unreadable(self._door.topics(topics), deadline))

    def partition_count(self, topic: str, deadline: float = DEADLINE_S) -> int | None:
        """Return how many partitions a topic of the cluster's own has, None if there is no such topic.

        Raises NotAuthorizedError if we may not describe it.
        """
        return self._topics.partition_count(topic, deadline)

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; partitions that are not there, or of which nobody can tell now, are left out."""
        return self._door.into(self._topics.ends(self._door.out(dict.fromkeys(partitions)), deadline))

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float = DEADLINE_S) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; where nobody can tell now it is left out."""
        door = self._door
        return door.into(self._topics.reaches(lambda topic: is_wanted(door.stream(topic)), deadline))

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
        if door.is_same:
            return self._coordinators.write_offsets(writes, deadline, may_send)
        absent: dict[str, Errors] = {group: {} for group in writes}
        named: dict[str, list[OffsetWrite]] = {group: [] for group in writes}
        for group, wanted in writes.items():
            for each in wanted:
                if (name := door.name(each.topic)) is None:
                    absent[group][_partition_of(each)] = _NO_NAME
                else:
                    named[group].append(replace(each, topic=name))
        answers = self._coordinators.write_offsets(named, deadline, may_send)
        return {
            group: found if isinstance(found, ClusterError) else {**absent[group], **door.into(found)}
            for group, found in answers.items()
        }


class Coordinators:
    """What groups have committed, asked of their coordinators, by the cluster's own names of topics.

    *topics* tells whether a cluster whose coordinators are silent answers anything.
    """

    def __init__(
        self, topics: TopicMetadata, options: Mapping[str, str], in_flight: int, at_once: ManyGroups | None
    ) -> None:
        self.alias = topics.alias
        self._topics, self._options = topics, options
        self._in_flight, self._at_once = in_flight, at_once
        self._lock, self._last_complaint = threading.Lock(), ""  # of the client before this one
        self._connected: GroupOffsets | None = None

    def committed_offsets(
        self, groups: Sequence[str], deadline: float
    ) -> dict[str, dict[TopicPartition, Committed] | ClusterError]:
        """Return what each group has committed; a group that does not exist has committed nothing.

        Reads are stable: while a transaction has a commit pending for some partition the group is read again, for at
        most two seconds, and then it is an error. So it errs to not knowing, rather than to a value that is about to
        be replaced. The error is a TransientError if the next call may succeed. One is raised if the cluster answers
        nothing at all.
        """
        refused = {group: reason for group in groups if (reason := invalid_group(group)) is not None}
        pending = [group for group in dict.fromkeys(groups) if group not in refused]
        answers = dict[str, GroupAnswer](self._at_once.read(pending, deadline) if self._at_once else {})
        pending = [group for group in pending if group not in answers]
        asked = bool(pending)
        ends_at = time.monotonic() + deadline * (1 - _PROOF_SHARE)
        patient_until = time.monotonic() + min(deadline / 3, _UNSTABLE_PATIENCE_S)
        limits = Limits(ends_at, _REQUEST_S, self._in_flight)
        for _ in attempts(ends_at) if pending else ():
            answers |= self._checked(self._client().read(pending, limits))
            is_patient = time.monotonic() < patient_until
            pending = [group for group in pending if is_worth_repeating(answers[group], is_patient)]
            if not pending:
                break
        is_silent = asked and all(is_unreachable(answer) for answer in answers.values())
        if is_silent and not self._topics.is_answered(deadline * _PROOF_SHARE):
            servers, complaint = self._options.get("bootstrap.servers"), self._last_complaint or "connected, but silent"
            raise TransientError(self.alias, f"no answer within {deadline:g} s from {servers}: {complaint}")
        found = {group: self._to_committed(group, answer) for group, answer in answers.items()}
        return found | {group: self._group_error(group, reason) for group, reason in refused.items()}

    def write_offsets(
        self,
        writes: Mapping[str, Sequence[OffsetWrite]],
        deadline: float,
        may_send: Callable[[], bool],
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets with a single attempt; the caller has to read back whether to repeat one.

        What is stored has empty metadata and the write's leader epoch. An error of the request as a whole is given to
        each of its partitions; after an UNREACHABLE one they may have been written. ClusterError: no request can be
        made for the group id. *may_send* is asked before each request: REQUEST_NOT_SENT where it says no.
        """
        answer: dict[str, Errors | ClusterError] = {}
        valid: dict[str, list[OffsetWrite]] = {}
        for group, wanted in writes.items():
            if (reason := invalid_group(group)) is not None:
                answer[group] = self._group_error(group, reason)
                continue
            answer[group] = {_partition_of(each): invalid_write(each) for each in wanted}
            valid[group] = [each for each in wanted if invalid_write(each) is None]
        asked = {group: wanted for group, wanted in valid.items() if wanted}
        limits = Limits(time.monotonic() + deadline, _REQUEST_S, self._in_flight, may_send)
        found = self._checked(self._client().write(asked, limits)) if asked else {}
        for group, written in found.items():
            errors = answer[group]
            assert not isinstance(errors, ClusterError)
            found_errors = errors_by_partition([_partition_of(each) for each in asked[group]], written)
            errors |= {each: with_remedy(self.alias, error) for each, error in found_errors.items()}
        return answer

    def _client(self) -> GroupOffsets:
        with self._lock:
            if self._connected is None:
                try:
                    self._connected = GroupOffsets({**_GROUP_OPTIONS, **self._options})
                except (BindingError, PlatformError) as error:  # the latter in an executor: jobs begin with a check
                    raise ClusterError(self.alias, str(error)) from error
            return self._connected

    def _checked(self, answers: dict[str, GroupAnswer]) -> dict[str, GroupAnswer]:
        """Return *answers*; drop the client if a coordinator has moved or does not answer.

        librdkafka remembers the coordinators of the last groups. Outside of transactions it does not forget one when
        that broker denies it, nor when the broker was away for a moment: then it goes on waiting for a connection that
        it has given up. Only a new client looks the coordinator up again.
        """
        if any(needs_new_client(answer) for answer in answers.values()):
            with self._lock:
                if self._connected is not None:
                    self._last_complaint = self._connected.complaint()
                self._connected = None
        return answers

    def _to_committed(self, group: str, answer: GroupAnswer) -> dict[TopicPartition, Committed] | ClusterError:
        if isinstance(answer, RequestFailure):
            if answer.error == "GROUP_AUTHORIZATION_FAILED":
                return self._group_error(group, group_refusal("Describe"))
            kind = TransientError if answer.error in RETRIABLE else ClusterError
            reason = f"{answer.error}: {answer.message}"
            return self._group_error(group, reason, SilentError if is_unreachable(answer) else kind)
        for each in answer:
            if each.error is not None and each.error not in ABSENT_TOPIC:
                kind = TransientError if each.error in RETRIABLE - {UNSTABLE} else ClusterError
                return self._group_error(group, f"{each.error} for {each.topic}-{each.partition}", kind)
        return {
            TopicPartition(each.topic, each.partition): Committed(each.offset, each.metadata, each.leader_epoch)
            for each in answer
            if each.offset >= 0 and each.error is None
        }

    def _group_error(self, group: str, reason: str, kind: type[ClusterError] = ClusterError) -> ClusterError:
        return kind(self.alias, f"group {group[:_SHOWN_CHARACTERS]!a}: {reason}")


def _partition_of(write: OffsetWrite) -> TopicPartition:
    return TopicPartition(write.topic, write.partition)
