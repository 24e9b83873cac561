"""Committed offsets of groups, read from and written to their coordinators for many groups at once.

librdkafka takes one group per request, so a batch keeps many requests in flight on one queue and takes the answers in
order of arrival. Every group gets an answer: a ``RequestFailure`` if it could not be requested or timed out. Reads are
retried by :class:`ClusterAdmin`, writes by its caller, which knows what may be written again.

We time requests out ourselves. If librdkafka times a request out while it looks up the coordinator, it aborts the whole
process (SIGABRT) when the coordinator is found later (librdkafka issue 4605, pull request 5397). So no request may time
out in librdkafka, and a client with unanswered requests has to be replaced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from offset_sync.kafka.client_callbacks import Callbacks, destroy_later
from offset_sync.kafka.librdkafka import elements, library, metadata_of, text
from offset_sync.kafka.requests import (
    LONGEST_S,
    MOVED_COORDINATOR,
    RETRIABLE,
    THROTTLED,
    THROTTLED_UNSENT,
    UNREACHABLE,
    UNSTABLE,
    CommitParts,
    Errors,
    PartitionAnswer,
)
from offset_sync.model.values import OffsetWrite, TopicPartition

_LIST, _ALTER = "ListConsumerGroupOffsets", "AlterConsumerGroupOffsets"
_ANY_OPERATION = 0
_POLL_MS = 100
IN_FLIGHT = 500
"""Requests that wait for an answer at once."""
REQUEST_S = 6.0  # above the broker's own offsets.commit.timeout.ms of 5 s, so that we get the broker's answer


@dataclass(frozen=True)
class RequestFailure:
    """The whole request of a group failed: an error name and librdkafka's message."""

    error: str
    message: str


GroupAnswer = list[PartitionAnswer] | RequestFailure
Parts = Sequence[Sequence[OffsetWrite]]
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

    def write(self, parts: Parts, ends_at: float, may_send: Callable[[], bool]) -> list[GroupAnswer]:
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
                while asked and min(max(asked[oldest := next(iter(asked))], since) + REQUEST_S, ends_at) <= now:
                    del asked[oldest]
                    answers[oldest] = _DELAYED if self._callbacks.delay_ms else _NO_ANSWER
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
