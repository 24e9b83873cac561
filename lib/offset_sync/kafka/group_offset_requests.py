"""One attempt at reading, writing or deleting the committed offsets of many groups at once.

librdkafka takes one group per request, so a batch keeps many requests in flight on one queue and takes the answers in
the order in which they come. Every group gets an answer: a ``RequestFailure`` if it could not be asked or did not
answer in time. Retries are the caller's, who knows what may be repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from offset_sync.kafka.consumer_handle import ConsumerHandle
from offset_sync.kafka.librdkafka import elements, library, metadata_of, text
from offset_sync.model.values import OffsetWrite, TopicPartition

_LIST, _ALTER, _DELETE = "ListConsumerGroupOffsets", "AlterConsumerGroupOffsets", "DeleteConsumerGroupOffsets"
_ANY_OPERATION = 0
_POLL_MS = 100
_GRACE_S = 0.5  # librdkafka reports a timeout itself, a little after it


class PartitionAnswer(NamedTuple):
    """What the broker answers for one partition; *error* is None or an error name."""

    topic: str
    partition: int
    offset: int
    metadata: str
    error: str | None


@dataclass(frozen=True)
class RequestFailure:
    """The whole request of a group failed: an error name and librdkafka's words."""

    error: str
    message: str


GroupAnswer = list[PartitionAnswer] | RequestFailure
NOT_ASKED = RequestFailure("_TIMED_OUT", "the deadline passed before the request was answered")


@dataclass(frozen=True)
class _Batch:
    """Requests of one kind, whose answers come on one queue; *queue* and *options* are librdkafka's pointers."""

    operation: str
    queue: int
    options: int


@dataclass(frozen=True)
class Limits:
    """*ends_at* is on ``time.monotonic``'s clock; no request waits longer than *request_s* seconds."""

    ends_at: float
    request_s: float
    in_flight: int

    @property
    def timeout_ms(self) -> int:
        """How long a request that starts now may take; 0 or less if it is too late for one."""
        return int(min(self.request_s, self.ends_at - time.monotonic()) * 1000)


class GroupOffsets:
    """The three operations over one client handle; threads may share it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library = library()
        self._handle = ConsumerHandle(options)

    def read(self, groups: Iterable[str], limits: Limits) -> dict[str, GroupAnswer]:
        """Return all committed offsets; one with a transaction pending on it has the error UNSTABLE_OFFSET_COMMIT."""
        return self._run(_LIST, dict.fromkeys(groups), limits)

    def write(self, writes: Mapping[str, Sequence[OffsetWrite]], limits: Limits) -> dict[str, GroupAnswer]:
        """Commit without a member, without a leader epoch, with metadata exact to the byte."""
        rows = {
            group: [(each.topic, each.partition, each.offset, each.metadata) for each in wanted]
            for group, wanted in writes.items()
        }
        return self._run(_ALTER, rows, limits)

    def delete(self, partitions: Mapping[str, Sequence[TopicPartition]], limits: Limits) -> dict[str, GroupAnswer]:
        """Delete each group's committed offsets of these partitions."""
        rows = {group: [(each.topic, each.partition) for each in wanted] for group, wanted in partitions.items()}
        return self._run(_DELETE, rows, limits)

    def complaint(self) -> str:
        """Return why no broker can be reached, as far as the client knows; "" if it knows nothing."""
        return self._handle.complaint()

    def _run(self, operation: str, rows: Mapping[str, Sequence[Any] | None], limits: Limits) -> dict[str, GroupAnswer]:
        waiting = deque(enumerate(rows, start=1))  # from 1 on: a 0 would be a null pointer
        asked: dict[int, str] = {}
        answers: dict[str, GroupAnswer] = dict.fromkeys(rows, NOT_ASKED)
        with self._opened(operation) as batch:
            while waiting or asked:
                while waiting and len(asked) < limits.in_flight and (timeout_ms := limits.timeout_ms) > 0:
                    number, group = waiting.popleft()
                    asked[number] = group
                    self._ask(batch, number, group, rows[group], timeout_ms)
                if not asked or time.monotonic() > limits.ends_at + _GRACE_S:
                    break
                for number, answer in self._answers(batch):
                    answers[asked.pop(number)] = answer
        return answers

    def _ask(self, batch: _Batch, number: int, group: str, rows: Sequence[Any] | None, timeout_ms: int) -> None:
        bound = self._library
        partitions = None
        if rows is not None:  # without a list, all partitions are listed
            partitions = bound.topic_partition_list_new(len(rows))
            for row in rows:
                bound.add_partition(partitions, *row)
        bound.AdminOptions_set_opaque(batch.options, number)
        bound.AdminOptions_set_request_timeout(batch.options, timeout_ms, None, 0)
        bound.ask(batch.operation, self._handle.pointer, group, partitions, batch.options, batch.queue)
        if partitions is not None:  # the request had its own copy
            bound.topic_partition_list_destroy(partitions)

    def _answers(self, batch: _Batch) -> Iterator[tuple[int, GroupAnswer]]:
        """Yield the answers that have come, waiting a little for the first; each is copied before it is destroyed."""
        wait_ms = _POLL_MS
        while event := self._library.queue_poll(batch.queue, wait_ms):
            try:
                yield self._library.event_opaque(event), self._answer(batch.operation, event)
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
            )
            for each in elements(bound.group_result_partitions(group))
        ]

    def _name(self, code: int) -> str:
        return text(self._library.err2name(code))

    @contextmanager
    def _opened(self, operation: str) -> Iterator[_Batch]:
        bound, handle = self._library, self._handle.pointer
        options = bound.AdminOptions_new(handle, _ANY_OPERATION)
        queue = bound.queue_new(handle)
        try:
            if operation == _LIST:
                error = bound.AdminOptions_set_require_stable_offsets(options, 1)
                assert not error, "librdkafka knows the option since 1.9"
            yield _Batch(operation, queue, options)
        finally:  # answers that come later are dropped by librdkafka
            bound.queue_destroy(queue)
            bound.AdminOptions_destroy(options)
