"""What Offset Sync asks of a cluster: topics, log ends, committed offsets.

Every call ends by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; what concerns one group or one partition is an entry of the answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from offset_sync.kafka.error_codes import (
    ABSENT_TOPIC,
    MOVED_COORDINATOR,
    RETRIABLE,
    UNREACHABLE,
    UNSTABLE,
    NotAuthorizedError,
    TransientError,
)
from offset_sync.kafka.group_offset_requests import GroupAnswer, GroupOffsets, Limits, RequestFailure
from offset_sync.kafka.librdkafka import BindingError
from offset_sync.kafka.request_limits import invalid_group, invalid_place, invalid_write
from offset_sync.kafka.retry import attempts
from offset_sync.kafka.topic_metadata import LogEnds, Reach, TopicInfo, Topics, to_topic_infos
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, TopicPartition

DEADLINE_S = 15.0
_REQUEST_S = 6.0  # above the broker's own offsets.commit.timeout.ms of 5 s, so that the broker's answer is heard
_UNSTABLE_PATIENCE_S = 2.0  # a transaction ends at once or hangs for minutes; a wave must not wait for the latter
_PROOF_SHARE = 0.2  # of a deadline: kept to find out whether a silence is the cluster's or that of some groups
_SHOWN_CHARACTERS = 80
# Defaults, below the caller's options. A broker that comes back is to be found soon; what goes wrong is told in our
# errors, not in twenty log lines a second. The group id is never joined: with none, librdkafka crashes (librdkafka.py).
_OPTIONS = {
    "client.id": "offset-sync",
    "reconnect.backoff.ms": "250",
    "reconnect.backoff.max.ms": "1000",
    "log_level": "2",
}
_FORGETTABLE = MOVED_COORDINATOR | UNREACHABLE
_GROUP_OPTIONS = {"group.id": "offset-sync-admin", "enable.auto.commit": "false"}


@dataclass(frozen=True)
class Committed:
    """What stands at a cluster for one partition of a group."""

    offset: int
    metadata: str


Errors: TypeAlias = "dict[TopicPartition, str | None]"
"""Per partition None (done) or a text that begins with the Kafka error name."""


class ClusterAdmin:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; nothing has to be closed."""

    def __init__(self, alias: str, options: Mapping[str, str], *, requests_in_flight: int = 500) -> None:
        self.alias = alias
        self._options = {**_OPTIONS, **options}
        self._in_flight = requests_in_flight
        self._topics = Topics(alias, self._options)
        self._lock = threading.Lock()
        self._connected: GroupOffsets | None = None
        self._complaint = ""  # of the client before this one

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and may be described; of others a list says nothing."""
        return self._topics.listed(deadline)

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return what is known of *topics*, or why nobody may say; unknown ones are left out."""
        return to_topic_infos(self._topics.described(topics, deadline))

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that may be described and not read."""
        return self._topics.unreadable(topics, deadline)

    def partition_count(self, topic: str, deadline: float = DEADLINE_S) -> int | None:
        """Return how many there are, None where there is no such topic; raise where it may not be described."""
        return self._topics.partition_count(topic, deadline)

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; what does not exist, may not be described or has no leader is left out."""
        return self._topics.ends(partitions, deadline)

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float = DEADLINE_S) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; one without a leader now is left out."""
        return self._topics.reaches(is_wanted, deadline)

    def committed_offsets(
        self, groups: Sequence[str], deadline: float = DEADLINE_S
    ) -> dict[str, dict[TopicPartition, Committed] | ClusterError]:
        """Return what each group has committed; a group that does not exist has committed nothing.

        Reads are stable: while a transaction's commit is pending for a partition the group is asked again, for at most
        two seconds, and then is an error: it errs to knowing nothing, not to a value about to be replaced. A group's
        error is a TransientError where the next call may succeed; one is raised where the cluster says nothing at all.
        """
        refused = {group: reason for group in groups if (reason := invalid_group(group)) is not None}
        pending = [group for group in dict.fromkeys(groups) if group not in refused]
        asked, answers = bool(pending), dict[str, GroupAnswer]()
        ends_at = time.monotonic() + deadline * (1 - _PROOF_SHARE)
        patient_until = time.monotonic() + min(deadline / 3, _UNSTABLE_PATIENCE_S)
        for _ in attempts(ends_at) if pending else ():
            answers |= self._heard(self._client().read(pending, self._limits(ends_at)))
            patient = time.monotonic() < patient_until
            pending = [group for group in pending if _worth_asking_again(answers[group], patient)]
            if not pending:
                break
        is_silent = asked and all(_is_unreachable(answer) for answer in answers.values())
        if is_silent and not self._topics.is_answered(deadline * _PROOF_SHARE):
            raise TransientError(self.alias, self._silence(deadline))
        found = {group: self._to_committed(group, answer) for group, answer in answers.items()}
        return found | {group: self._group_error(group, reason) for group, reason in refused.items()}

    def write_offsets(
        self, writes: Mapping[str, Sequence[OffsetWrite]], deadline: float = DEADLINE_S
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets, once: whether a write may be repeated is for the caller to find out by reading.

        Metadata is stored exact to the byte, and no leader epoch with it. The error of a request as a whole is given to
        each of its partitions; UNREACHABLE ones may have been written. ClusterError: the group id cannot be asked for.
        """
        answer: dict[str, Errors | ClusterError] = {}
        valid: dict[str, list[OffsetWrite]] = {}
        for group, wanted in writes.items():
            reason = invalid_group(group)
            if reason is not None:
                answer[group] = self._group_error(group, reason)
                continue
            refusals: Errors = {_place(each): invalid_write(each) for each in wanted}
            answer[group] = refusals
            valid[group] = [each for each in wanted if refusals[_place(each)] is None]
        asked = {group: wanted for group, wanted in valid.items() if wanted}
        ends_at = time.monotonic() + deadline
        for group, heard in self._heard(self._client().write(asked, self._limits(ends_at))).items() if asked else ():
            errors = answer[group]
            assert not isinstance(errors, ClusterError)
            errors |= _errors([_place(each) for each in asked[group]], heard)
        return answer

    def delete_offsets(
        self, group: str, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S
    ) -> Errors | ClusterError:
        """Delete the committed offsets of *partitions*, with retries; what is not there counts as deleted.

        A group that is subscribed to a topic keeps its offsets: GROUP_SUBSCRIBED_TO_TOPIC, as NON_EMPTY_GROUP.
        """
        reason = invalid_group(group)
        if reason is not None:
            return self._group_error(group, reason)
        errors: Errors = {}
        for each in partitions:
            errors[each] = f"_INVALID_ARG: {bad}" if (bad := invalid_place(each.topic, each.partition)) else None
        pending = [each for each, error in errors.items() if error is None]
        ends_at = time.monotonic() + deadline
        for _ in attempts(ends_at) if pending else ():
            heard = self._heard(self._client().delete({group: pending}, self._limits(ends_at)))[group]
            errors |= {each: _unless_gone(error) for each, error in _errors(pending, heard).items()}
            pending = [each for each in pending if errors[each] in RETRIABLE]
            if not pending:
                break
        return errors

    def _client(self) -> GroupOffsets:
        with self._lock:
            if self._connected is None:
                try:
                    self._connected = GroupOffsets({**_GROUP_OPTIONS, **self._options})
                except BindingError as error:
                    raise ClusterError(self.alias, str(error)) from error
            return self._connected

    def _heard(self, answers: dict[str, GroupAnswer]) -> dict[str, GroupAnswer]:
        """Return *answers*; where a coordinator has moved or does not answer, drop the client.

        librdkafka remembers who coordinates the last groups and, outside of transactions, does not forget it when that
        broker denies it. Nor when the broker was away for a moment: it then goes on waiting for a connection that it
        has given up, for as long as it remembers. Only a new client asks anew.
        """
        if any(not _FORGETTABLE.isdisjoint(_error_names(answer)) for answer in answers.values()):
            with self._lock:
                if self._connected is not None:
                    self._complaint = self._connected.complaint()
                self._connected = None
        return answers

    def _silence(self, deadline: float) -> str:
        complaint = self._complaint or "connected, but silent"
        return f"no answer within {deadline:g} s from {self._options.get('bootstrap.servers')}: {complaint}"

    def _limits(self, ends_at: float) -> Limits:
        return Limits(ends_at, _REQUEST_S, self._in_flight)

    def _to_committed(self, group: str, answer: GroupAnswer) -> dict[TopicPartition, Committed] | ClusterError:
        if isinstance(answer, RequestFailure):
            return self._group_error(group, f"{answer.error}: {answer.message}", answer.error in RETRIABLE)
        for each in answer:
            if each.error is not None and each.error not in ABSENT_TOPIC:
                is_transient = each.error in RETRIABLE - {UNSTABLE}
                return self._group_error(group, f"{each.error} for {each.topic}-{each.partition}", is_transient)
        return {
            TopicPartition(each.topic, each.partition): Committed(each.offset, each.metadata)
            for each in answer
            if each.offset >= 0 and each.error is None
        }

    def _group_error(self, group: str, reason: str, is_transient: bool = False) -> ClusterError:
        kind = TransientError if is_transient else ClusterError
        return kind(self.alias, f"group {group[:_SHOWN_CHARACTERS]!a}: {reason}")


def _place(write: OffsetWrite) -> TopicPartition:
    return TopicPartition(write.topic, write.partition)


def _error_names(answer: GroupAnswer) -> set[str]:
    if isinstance(answer, RequestFailure):
        return {answer.error}
    return {each.error for each in answer if each.error is not None}


def _worth_asking_again(answer: GroupAnswer, patient: bool) -> bool:
    names = _error_names(answer) & RETRIABLE
    return bool(names) and (patient or names != {UNSTABLE})


def _is_unreachable(answer: GroupAnswer) -> bool:
    return isinstance(answer, RequestFailure) and answer.error in UNREACHABLE


def _errors(partitions: Iterable[TopicPartition], answer: GroupAnswer) -> Errors:
    """Spread an answer over the partitions asked for; one the broker did not mention counts as unanswered."""
    if isinstance(answer, RequestFailure):
        return dict.fromkeys(partitions, answer.error)
    mentioned = {TopicPartition(each.topic, each.partition): each.error for each in answer}
    return {each: mentioned.get(each, "_TIMED_OUT") for each in partitions}


def _unless_gone(error: str | None) -> str | None:
    return None if error in ("GROUP_ID_NOT_FOUND", "UNKNOWN_TOPIC_OR_PART") else error
