"""Committed offsets of groups, read from and written to their coordinators for many groups at once.

librdkafka takes one group per request, so a batch keeps many requests in flight on one queue and takes the answers in
order of arrival. Every group gets an answer: a ``RequestFailure`` if it could not be requested or timed out. Reads are
retried by :class:`Coordinators`, writes by its caller, which knows what may be written again.

We time requests out ourselves. If librdkafka times a request out while it looks up the coordinator, it aborts the whole
process (SIGABRT) when the coordinator is found later (librdkafka issue 4605, pull request 5397). So no request may time
out in librdkafka, and a client with unanswered requests has to be replaced.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from offset_sync.kafka.client_callbacks import Callbacks, destroy_later
from offset_sync.kafka.clients import opening
from offset_sync.kafka.librdkafka import elements, library, metadata_of, text
from offset_sync.kafka.requests import (
    ABSENT_TOPIC,
    GROUP_REFUSED,
    LONGEST_S,
    MOVED_COORDINATOR,
    RETRIABLE,
    THROTTLED,
    THROTTLED_UNSENT,
    UNREACHABLE,
    UNSTABLE,
    CommitParts,
    Committed,
    Door,
    Errors,
    ManyGroups,
    PartitionAnswer,
    SilentError,
    TopicNames,
    TransientError,
    attempts,
    invalid_group,
    invalid_write,
    missing_right,
    partition_of,
    with_remedy,
)
from offset_sync.kafka.topic_requests import DEADLINE_S, TopicRequests
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, TopicPartition

_LIST, _ALTER = "ListConsumerGroupOffsets", "AlterConsumerGroupOffsets"
_ANY_OPERATION = 0
_POLL_MS = 100
IN_FLIGHT = 500
"""Requests that wait for an answer at once."""
_REQUEST_S = 6.0  # above the broker's own offsets.commit.timeout.ms of 5 s, so that we get the broker's answer
_UNSTABLE_PATIENCE_S = 2.0  # a transaction ends at once or hangs for minutes; a batch must not wait for the latter
_PROOF_SHARE = 0.2  # of a deadline, reserved to check whether the whole cluster is silent or only some coordinators
_SHOWN_CHARACTERS = 80
_NO_NAME = "UNKNOWN_TOPIC_OR_PART"
"""The error for a stream without a topic at the cluster."""
_GROUP_OPTIONS = {"group.id": "offset-sync-admin", "enable.auto.commit": "false"}  # never joined; see librdkafka.py


@dataclass(frozen=True)
class RequestFailure:
    """The whole request of a group failed: an error name and librdkafka's message."""

    error: str
    message: str


GroupAnswer = list[PartitionAnswer] | RequestFailure
_Parts = Sequence[Sequence[OffsetWrite]]
NOT_ASKED = RequestFailure("_TIMED_OUT", "the deadline passed before the request was sent")
NOT_SENT = RequestFailure("REQUEST_NOT_SENT", "not sent: the driver's lease has to be verified again first")
_NO_ANSWER = RequestFailure("_TIMED_OUT", "the group's coordinator did not answer in time")
_DELAYED = RequestFailure(THROTTLED, "not answered in time")
_DELAYED_UNSENT = RequestFailure(THROTTLED_UNSENT, "not sent in time")


class GroupOffsets:
    """Both operations over one client, which is destroyed with its last user; threads may share it.

    It is an ``rd_kafka_t`` of the consumer kind, which never subscribes, polls or commits. *options* are librdkafka's,
    with a ``group.id``, required for an ``rk_cgrp`` (librdkafka.py); the group is only looked up.

    A broker whose quota we exceed answers, and takes the next request of the connection later (KIP-219). While one
    delays us, the next request is sent when none is outstanding, and those that were sent may take until the deadline.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library, self._callbacks = library(), Callbacks()
        self.parts = CommitParts()
        self._client = self._library.open_consumer(options, self._callbacks)
        destroy_later(self, self._library, self._client, self._callbacks)

    def cluster_id(self, seconds: float = 0.0) -> str:
        """Return the id of the cluster that it was connected to last, "" if to none within *seconds*."""
        return self._library.cluster_id(self._client, seconds)

    def _take_events(self) -> None:
        """Let librdkafka call back about delays by a quota. It drops its errors: requests report theirs."""
        queue = self._library.queue_get_main(self._client)
        while event := self._library.queue_poll(queue, 0):
            self._library.event_destroy(event)
        self._library.queue_destroy(queue)

    def read(self, groups: Iterable[str], ends_at: float) -> dict[str, GroupAnswer]:
        """Return all committed offsets; one with a pending transaction has the error UNSTABLE_OFFSET_COMMIT.

        *ends_at* is on ``time.monotonic``'s clock.
        """
        wanted = [*dict.fromkeys(groups)]
        return dict(zip(wanted, self._run(_LIST, [(group, None) for group in wanted], ends_at), strict=True))

    def write(self, parts: _Parts, ends_at: float, may_send: Callable[[], bool]) -> list[GroupAnswer]:
        """Commit without a member, with leader epoch and metadata of each write; each part is of one group.

        *may_send* is called just before each request: after a pause it may no longer be allowed.
        """
        requests = [
            (part[0].group_id, [(e.topic, e.partition, e.offset, e.leader_epoch, e.metadata) for e in part])
            for part in parts
        ]
        with self._callbacks.writing():
            return self._run(_ALTER, requests, ends_at, may_send)

    def _run(
        self,
        operation: str,
        requests: Sequence[tuple[str, Any]],
        ends_at: float,
        may_send: Callable[[], bool] = lambda: True,
    ) -> list[GroupAnswer]:
        waiting = deque(enumerate(requests, start=1))  # from 1 on: a 0 would be a null pointer
        asked: dict[int, float] = {}  # by number, when
        answers, heard_at = dict[int, GroupAnswer](), 0.0
        with self._opened(operation) as (queue, options):
            while waiting or asked:
                most = 1 if self._callbacks.delay_ms else IN_FLIGHT
                while waiting and len(asked) < most and time.monotonic() < ends_at:
                    number, request = waiting.popleft()
                    if not may_send():
                        answers[number] = NOT_SENT
                        continue
                    asked[number] = time.monotonic()
                    self._library.AdminOptions_set_opaque(options, number)
                    self._ask(operation, *request, options, queue)
                if not asked:
                    break
                for number, answer in self._answers(operation, queue):
                    if asked.pop(number, None) is not None:  # else it timed out
                        answers[number] = answer
                        heard_at = time.monotonic()
                self._take_events()
                since = heard_at if self._callbacks.delay_ms else 0.0
                now = time.monotonic()
                late = [n for n, at in asked.items() if min(max(at, since) + _REQUEST_S, ends_at) <= now]
                for number in late:
                    del asked[number]
                    answers[number] = _DELAYED if self._callbacks.delay_ms else _NO_ANSWER
        unsent = _DELAYED_UNSENT if self._callbacks.delay_ms else NOT_ASKED
        return [answers.get(number, unsent) for number in range(1, len(requests) + 1)]

    def _ask(self, operation: str, group: str, rows: Sequence[Any] | None, options: int, queue: int) -> None:
        bound = self._library
        partitions = None
        if rows is not None:  # without a list, all partitions are listed
            partitions = bound.topic_partition_list_new(len(rows))
            for row in rows:
                bound.add_partition(partitions, *row)
        bound.ask(operation, self._client, group, partitions, options, queue)
        if partitions is not None:  # the request has its own copy
            bound.topic_partition_list_destroy(partitions)

    def _answers(self, operation: str, queue: int) -> Iterator[tuple[int, GroupAnswer]]:
        """Yield the received answers, waiting a little for the first; each is copied before it is destroyed."""
        wait_ms = _POLL_MS
        while event := self._library.queue_poll(queue, wait_ms):
            try:
                yield self._library.event_opaque(event), self._answer(operation, event)
            finally:
                self._library.event_destroy(event)
            wait_ms = 0

    def _answer(self, operation: str, event: int) -> GroupAnswer:
        bound = self._library
        code = bound.event_error(event)
        if code:
            return RequestFailure(self._name(code), text(bound.event_error_string(event)))
        group = bound.group_of(operation, event)
        error = bound.group_result_error(group)
        if error:
            return RequestFailure(self._name(bound.error_code(error)), text(bound.error_string(error)))
        return [
            PartitionAnswer(
                text(each.topic),
                each.partition,
                each.offset,
                metadata_of(each),
                self._name(each.err) if each.err else None,
                bound.leader_epoch_of(each),
            )
            for each in elements(bound.group_result_partitions(group))
        ]

    def _name(self, code: int) -> str:
        return text(self._library.err2name(code))

    @contextmanager
    def _opened(self, operation: str) -> Iterator[tuple[int, int]]:
        """Yield pointers to a queue for the answers and to the options of the requests."""
        bound, client = self._library, self._client
        options = bound.AdminOptions_new(client, _ANY_OPERATION)
        queue = bound.queue_new(client)
        try:
            bound.AdminOptions_set_request_timeout(options, round(LONGEST_S * 1000), None, 0)
            if operation == _LIST:
                error = bound.AdminOptions_set_require_stable_offsets(options, 1)
                assert not error, "librdkafka knows the option since 1.9"
            yield queue, options
        finally:  # answers that come later are dropped by librdkafka
            bound.queue_destroy(queue)
            bound.AdminOptions_destroy(options)


def errors_by_partition(partitions: Iterable[TopicPartition], answer: GroupAnswer) -> Errors:
    """Return the error of each of *partitions*; one missing in the answer counts as timed out."""
    if isinstance(answer, RequestFailure):
        return dict.fromkeys(partitions, answer.error)
    mentioned = {TopicPartition(each.topic, each.partition): each.error for each in answer}
    return {each: mentioned.get(each, "_TIMED_OUT") for each in partitions}


def is_worth_repeating(answer: GroupAnswer, is_patient: bool) -> bool:
    """Return whether a retry may succeed; only a patient caller waits for open transactions."""
    names = _error_names(answer) & RETRIABLE
    return bool(names) and (is_patient or names != {UNSTABLE})


def is_unreachable(answer: GroupAnswer) -> bool:
    """Return whether there was no answer at all."""
    return isinstance(answer, RequestFailure) and answer.error in UNREACHABLE


def needs_new_client(answer: GroupAnswer) -> bool:
    """Return whether the coordinator has moved or does not answer, so that it has to be looked up again."""
    return not (MOVED_COORDINATOR | UNREACHABLE | {THROTTLED}).isdisjoint(_error_names(answer))


def _error_names(answer: GroupAnswer) -> set[str]:
    if isinstance(answer, RequestFailure):
        return {answer.error}
    return {each.error for each in answer if each.error is not None}


class Coordinators(TopicRequests):
    """Reads and writes committed offsets at the groups' coordinators.

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
        super().__init__(alias, options)
        self.take_names(names)
        self._at_once, self._connecting = at_once, threading.Lock()
        self._connected: GroupOffsets | None = None

    def take_names(self, names: TopicNames | None) -> None:
        """Use *names*, which know more by now."""
        self._door = Door(self.alias, names)

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
        named = replace(write, topic=name)
        return invalid_write(named) or named

    def _written(
        self, client: GroupOffsets, parts: _Parts, ends_at: float, may_send: Callable[[], bool]
    ) -> list[GroupAnswer]:
        if not parts:
            return []
        is_connected = client.cluster_id(min(_REQUEST_S, max(0.0, ends_at - time.monotonic())))
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
