"""One attempt at reading or writing the committed offsets of many groups at once.

librdkafka takes one group per request, so a batch keeps many requests in flight on one queue and takes the answers in
the order in which they come. Every group gets an answer: a ``RequestFailure`` if it could not be asked or did not
answer in time. Retries are the caller's, who knows what may be repeated.

We count the seconds ourselves. A request of which librdkafka says that its time is up while it looks for the
coordinator ends the whole process (SIGABRT) when that is found later (librdkafka issue 4605, pull request 5397). So
none may get as far as that in librdkafka, and a client with unanswered requests has to be replaced.
"""

from __future__ import annotations

import _thread
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from offset_sync.kafka.librdkafka import Library, elements, library, metadata_of, text
from offset_sync.kafka.requests import LONGEST_S, MOVED_COORDINATOR, RETRIABLE, UNREACHABLE, UNSTABLE, PartitionAnswer
from offset_sync.model.values import OffsetWrite, TopicPartition

_LIST, _ALTER = "ListConsumerGroupOffsets", "AlterConsumerGroupOffsets"
_ANY_OPERATION = 0
_POLL_MS = 100
_NO_CONSUMER_CLOSE = 0x8


@dataclass(frozen=True)
class RequestFailure:
    """The whole request of a group failed: an error name and librdkafka's words."""

    error: str
    message: str


GroupAnswer = list[PartitionAnswer] | RequestFailure
Errors: TypeAlias = "dict[TopicPartition, str | None]"
"""Per partition None (done) or a text that begins with the Kafka error name."""
NOT_ASKED = RequestFailure("_TIMED_OUT", "the deadline passed before the request was made")
NOT_SENT = RequestFailure("REQUEST_NOT_SENT", "whether it might still be sent had to be made sure of again first")
_NO_ANSWER = RequestFailure("_TIMED_OUT", "no answer of the group's coordinator in time")


@dataclass(frozen=True)
class Limits:
    """*ends_at* is on ``time.monotonic``'s clock; no request waits longer than *request_s* seconds.

    *may_send* is asked just before each request: what was allowed a moment ago may not be after a pause.
    """

    ends_at: float
    request_s: float
    in_flight: int
    may_send: Callable[[], bool] = lambda: True


class GroupOffsets:
    """Both operations over one client, which is destroyed with its last user; threads may share it.

    It is an ``rd_kafka_t`` of the consumer kind, which never subscribes, polls or commits. *options* are librdkafka's.
    A ``group.id`` must be there for an ``rk_cgrp`` (librdkafka.py); it is only looked up.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library, self._complaint = library(), ""
        self._client = self._library.open_consumer(options)
        # At the end of the process nothing is left to destroy it for.
        weakref.finalize(self, _destroy, self._library, self._client, os.getpid()).atexit = False

    def complaint(self) -> str:
        """Return what last went wrong between client and brokers ("Connection refused"), "" when nothing did."""
        queue = self._library.queue_get_main(self._client)
        while event := self._library.queue_poll(queue, 0):
            if self._library.event_error(event):
                self._complaint = text(self._library.event_error_string(event))
            self._library.event_destroy(event)
        self._library.queue_destroy(queue)
        return self._complaint

    def read(self, groups: Iterable[str], limits: Limits) -> dict[str, GroupAnswer]:
        """Return all committed offsets; one with a transaction pending on it has the error UNSTABLE_OFFSET_COMMIT."""
        return self._run(_LIST, dict.fromkeys(groups), limits)

    def write(self, writes: Mapping[str, Sequence[OffsetWrite]], limits: Limits) -> dict[str, GroupAnswer]:
        """Commit without a member, with the leader epoch of each write, and with empty metadata."""
        rows = {
            group: [(each.topic, each.partition, each.offset, each.leader_epoch) for each in wanted]
            for group, wanted in writes.items()
        }
        return self._run(_ALTER, rows, limits)

    def _run(self, operation: str, rows: Mapping[str, Sequence[Any] | None], limits: Limits) -> dict[str, GroupAnswer]:
        waiting = deque(enumerate(rows, start=1))  # from 1 on: a 0 would be a null pointer
        asked: dict[int, tuple[str, float]] = {}  # by number, the group and until when it is waited for
        answers: dict[str, GroupAnswer] = dict.fromkeys(rows, NOT_ASKED)
        with self._opened(operation) as (queue, options):
            while waiting or asked:
                while waiting and len(asked) < limits.in_flight and time.monotonic() < limits.ends_at:
                    number, group = waiting.popleft()
                    if not limits.may_send():
                        answers[group] = NOT_SENT
                        continue
                    asked[number] = group, min(time.monotonic() + limits.request_s, limits.ends_at)
                    self._library.AdminOptions_set_opaque(options, number)
                    self._ask(operation, group, rows[group], options, queue)
                if not asked:
                    break
                for number, answer in self._answers(operation, queue):
                    if number in asked:  # else it was given up
                        answers[asked.pop(number)[0]] = answer
                now = time.monotonic()
                for number in [number for number, (_, until) in asked.items() if until <= now]:
                    answers[asked.pop(number)[0]] = _NO_ANSWER
        return answers

    def _ask(self, operation: str, group: str, rows: Sequence[Any] | None, options: int, queue: int) -> None:
        bound = self._library
        partitions = None
        if rows is not None:  # without a list, all partitions are listed
            partitions = bound.topic_partition_list_new(len(rows))
            for row in rows:
                bound.add_partition(partitions, *row)
        bound.ask(operation, self._client, group, partitions, options, queue)
        if partitions is not None:  # the request had its own copy
            bound.topic_partition_list_destroy(partitions)

    def _answers(self, operation: str, queue: int) -> Iterator[tuple[int, GroupAnswer]]:
        """Yield the answers that have come, waiting a little for the first; each is copied before it is destroyed."""
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


def _destroy(bound: Library, pointer: int, owner: int) -> None:
    """Let librdkafka take a client down, and wait for nothing.

    After a broker was away and came back that may never end (librdkafka issue 4674), and whoever drops a client holds
    a lock. A thread of threading would not do: its start takes locks, and this may be called in the middle of anything.
    """
    if os.getpid() == owner:  # a forked child has the memory but not the threads: destroying would wait for ever
        _thread.start_new_thread(bound.destroy_flags, (pointer, _NO_CONSUMER_CLOSE))


def errors_by_partition(partitions: Iterable[TopicPartition], answer: GroupAnswer) -> Errors:
    """Return the error of each of *partitions*; one that the broker did not mention counts as unanswered."""
    if isinstance(answer, RequestFailure):
        return dict.fromkeys(partitions, answer.error)
    mentioned = {TopicPartition(each.topic, each.partition): each.error for each in answer}
    return {each: mentioned.get(each, "_TIMED_OUT") for each in partitions}


def is_worth_repeating(answer: GroupAnswer, is_patient: bool) -> bool:
    """Return whether a second request may succeed; only a patient caller waits for open transactions."""
    names = _error_names(answer) & RETRIABLE
    return bool(names) and (is_patient or names != {UNSTABLE})


def is_unreachable(answer: GroupAnswer) -> bool:
    """Return whether there was no answer at all."""
    return isinstance(answer, RequestFailure) and answer.error in UNREACHABLE


def needs_new_client(answer: GroupAnswer) -> bool:
    """Return whether the coordinator has moved or does not answer, so that another broker may have to be asked."""
    return not (MOVED_COORDINATOR | UNREACHABLE).isdisjoint(_error_names(answer))


def _error_names(answer: GroupAnswer) -> set[str]:
    if isinstance(answer, RequestFailure):
        return {answer.error}
    return {each.error for each in answer if each.error is not None}
