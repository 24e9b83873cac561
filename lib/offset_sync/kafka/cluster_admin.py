"""What Offset Sync asks of a cluster: topics, log ends, committed offsets.

Every call ends by its *deadline* (seconds from the call on). ClusterError is raised when the cluster as a whole does
not answer; an error of a single group or partition is an entry of the answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from offset_sync.kafka.error_codes import (
    ABSENT_TOPIC,
    RETRIABLE,
    UNSTABLE,
    NotAuthorizedError,
    SilentError,
    TransientError,
    group_refusal,
    with_remedy,
)
from offset_sync.kafka.group_offset_answers import (
    Errors,
    errors_by_partition,
    is_unreachable,
    is_worth_repeating,
    needs_new_client,
)
from offset_sync.kafka.group_offset_requests import GroupAnswer, GroupOffsets, Limits, RequestFailure
from offset_sync.kafka.librdkafka import KEEPS_BROKERS, BindingError
from offset_sync.kafka.partition_answer import Committed, ManyGroups
from offset_sync.kafka.request_limits import invalid_group, invalid_write
from offset_sync.kafka.retry import attempts
from offset_sync.kafka.topic_metadata import LogEnds, Reach, TopicInfo, TopicMetadata
from offset_sync.model.errors import ClusterError, PlatformError
from offset_sync.model.values import OffsetWrite, TopicPartition

DEADLINE_S = 15.0
_REQUEST_S = 6.0  # above the broker's own offsets.commit.timeout.ms of 5 s, so that we get the broker's answer
_UNSTABLE_PATIENCE_S = 2.0  # a transaction ends at once or hangs for minutes; a batch must not wait for the latter
_PROOF_SHARE = 0.2  # of a deadline, kept to find out whether the whole cluster is silent or only some coordinators
_SHOWN_CHARACTERS = 80
# Defaults that the caller's options override. A broker that comes back has to be found soon, and errors are reported
# by us, not by twenty log lines a second. The group is never joined; without an id librdkafka crashes (librdkafka.py).
_OPTIONS = {
    **KEEPS_BROKERS,
    "client.id": "offset-sync",
    "reconnect.backoff.ms": "250",
    "reconnect.backoff.max.ms": "1000",
    "log_level": "2",
}
_GROUP_OPTIONS = {"group.id": "offset-sync-admin", "enable.auto.commit": "false"}


class ClusterAdmin:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it; it needs no closing."""

    def __init__(
        self,
        alias: str,
        options: Mapping[str, str],
        *,
        requests_in_flight: int = 500,
        at_once: ManyGroups | None = None,
    ) -> None:
        self.alias = alias
        self._options = {**_OPTIONS, **options}
        self._in_flight, self._at_once = requests_in_flight, at_once
        self._topics = TopicMetadata(alias, self._options)
        self._lock, self._last_complaint = threading.Lock(), ""  # of the client before this one
        self._connected: GroupOffsets | None = None

    def cluster_id(self, deadline: float = DEADLINE_S) -> str:
        """Return Kafka's own id of the cluster."""
        return self._topics.cluster_id(deadline)

    def topics(self, deadline: float = DEADLINE_S) -> dict[str, TopicInfo]:
        """Return every topic that is not internal and that we may describe; others do not show in a list."""
        return self._topics.listed(deadline)

    def describe(
        self, topics: Iterable[str], deadline: float = DEADLINE_S
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return what is known of *topics*, or the error if we may not describe them; unknown ones are left out."""
        return self._topics.described(topics, deadline)

    def unreadable(self, topics: Iterable[str], deadline: float = DEADLINE_S) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that we may describe but not read."""
        return self._topics.unreadable(topics, deadline)

    def partition_count(self, topic: str, deadline: float = DEADLINE_S) -> int | None:
        """Return how many partitions there are, None if there is no such topic; raise if we may not describe it."""
        return self._topics.partition_count(topic, deadline)

    def ends(self, partitions: Iterable[TopicPartition], deadline: float = DEADLINE_S) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; partitions that are not there, or of which nobody can tell now, are left out."""
        return self._topics.ends(partitions, deadline)

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float = DEADLINE_S) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; where nobody can tell now it is left out."""
        return self._topics.reaches(is_wanted, deadline)

    def committed_offsets(
        self, groups: Sequence[str], deadline: float = DEADLINE_S
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
        for _ in attempts(ends_at) if pending else ():
            answers |= self._checked(self._client().read(pending, self._limits(ends_at)))
            is_patient = time.monotonic() < patient_until
            pending = [group for group in pending if is_worth_repeating(answers[group], is_patient)]
            if not pending:
                break
        is_silent = asked and all(is_unreachable(answer) for answer in answers.values())
        if is_silent and not self._topics.is_answered(deadline * _PROOF_SHARE):
            raise TransientError(self.alias, self._silence(deadline))
        found = {group: self._to_committed(group, answer) for group, answer in answers.items()}
        return found | {group: self._group_error(group, reason) for group, reason in refused.items()}

    def write_offsets(
        self,
        writes: Mapping[str, Sequence[OffsetWrite]],
        deadline: float = DEADLINE_S,
        may_send: Callable[[], bool] = lambda: True,
    ) -> dict[str, Errors | ClusterError]:
        """Commit each group's offsets with a single attempt; the caller has to read back whether to repeat one.

        What is stored has empty metadata and the write's leader epoch. An error of the request as a whole is given to
        each of its partitions; after an UNREACHABLE one they may have been written. ClusterError: no request can be
        made for the group id. *may_send* is asked before each request: REQUEST_NOT_SENT where it says no.
        """
        answer: dict[str, Errors | ClusterError] = {}
        valid: dict[str, list[OffsetWrite]] = {}
        for group, wanted in writes.items():
            reason = invalid_group(group)
            if reason is not None:
                answer[group] = self._group_error(group, reason)
                continue
            refusals: Errors = {_partition_of(each): invalid_write(each) for each in wanted}
            answer[group] = refusals
            valid[group] = [each for each in wanted if refusals[_partition_of(each)] is None]
        asked = {group: wanted for group, wanted in valid.items() if wanted}
        ends_at = time.monotonic() + deadline
        limits = replace(self._limits(ends_at), may_send=may_send)
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

    def _silence(self, deadline: float) -> str:
        complaint = self._last_complaint or "connected, but silent"
        return f"no answer within {deadline:g} s from {self._options.get('bootstrap.servers')}: {complaint}"

    def _limits(self, ends_at: float) -> Limits:
        return Limits(ends_at, _REQUEST_S, self._in_flight)

    def _to_committed(self, group: str, answer: GroupAnswer) -> dict[TopicPartition, Committed] | ClusterError:
        if isinstance(answer, RequestFailure):
            if answer.error == "GROUP_AUTHORIZATION_FAILED":
                return self._group_error(group, group_refusal("Describe"))
            reason = f"{answer.error}: {answer.message}"
            if is_unreachable(answer):
                return SilentError(self.alias, named_group(group, reason))
            return self._group_error(group, reason, answer.error in RETRIABLE)
        for each in answer:
            if each.error is not None and each.error not in ABSENT_TOPIC:
                is_transient = each.error in RETRIABLE - {UNSTABLE}
                return self._group_error(group, f"{each.error} for {each.topic}-{each.partition}", is_transient)
        return {
            TopicPartition(each.topic, each.partition): Committed(each.offset, each.metadata, each.leader_epoch)
            for each in answer
            if each.offset >= 0 and each.error is None
        }

    def _group_error(self, group: str, reason: str, is_transient: bool = False) -> ClusterError:
        kind = TransientError if is_transient else ClusterError
        return kind(self.alias, named_group(group, reason))


def named_group(group: str, reason: str) -> str:
    """Return *reason* with the group that it is about."""
    return f"group {group[:_SHOWN_CHARACTERS]!a}: {reason}"


def _partition_of(write: OffsetWrite) -> TopicPartition:
    return TopicPartition(write.topic, write.partition)
