"""One attempt at reading or writing the committed offsets of many groups at once.

librdkafka takes one group per request, so a batch keeps many requests in flight on one queue and takes the answers in
the order in which they come. Every group gets an answer: a ``RequestFailure`` if it could not be asked or did not
answer in time. Retries are the caller's, who knows what may be repeated.

We count the seconds ourselves. A request of which librdkafka says that its time is up while it looks for the
coordinator ends the whole process (SIGABRT) when that is found later (librdkafka issue 4605, pull request 5397). So
none may get as far as that in librdkafka, and a client with unanswered requests has to be replaced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from offset_sync.kafka.consumer_handle import ConsumerHandle
from offset_sync.kafka.librdkafka import elements, library, metadata_of, text
from offset_sync.kafka.partition_answer import PartitionAnswer
from offset_sync.kafka.request_limits import LONGEST_S
from offset_sync.model.values import OffsetWrite

_LIST, _ALTER = "ListConsumerGroupOffsets", "AlterConsumerGroupOffsets"
_ANY_OPERATION = 0
_POLL_MS = 100


@dataclass(frozen=True)
class RequestFailure:
    """The whole request of a group failed: an error name and librdkafka's words."""

    error: str
    message: str


GroupAnswer = list[PartitionAnswer] | RequestFailure
NOT_ASKED = RequestFailure("_TIMED_OUT", "the deadline passed before the request was made")
NOT_SENT = RequestFailure("REQUEST_NOT_SENT", "whether it might still be sent had to be made sure of again first")
_NO_ANSWER = RequestFailure("_TIMED_OUT", "no answer of the group's coordinator in time")


@dataclass(frozen=True)
class _Batch:
    """Requests of one kind, whose answers come on one queue; *queue* and *options* are librdkafka's pointers."""

    operation: str
    queue: int
    options: int


@dataclass(frozen=True)
class Limits:
    """*ends_at* is on ``time.monotonic``'s clock; no request waits longer than *request_s* seconds.

    *may_send* is asked just before each request: what was allowed a moment ago may not be after a pause.
    """

    ends_at: float
    request_s: float
    in_flight: int
    may_send: Callable[[], bool] = lambda: True

    def ends_of_request(self) -> float:
        """Return until when a request that starts now may take."""
        return min(time.monotonic() + self.request_s, self.ends_at)


class GroupOffsets:
    """Both operations over one client handle; threads may share it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._library = library()
        self._handle = ConsumerHandle(options)

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

    def complaint(self) -> str:
        """Return why no broker can be reached, as far as the client knows; "" if it knows nothing."""
        return self._handle.complaint()

    def _run(self, operation: str, rows: Mapping[str, Sequence[Any] | None], limits: Limits) -> dict[str, GroupAnswer]:
        waiting = deque(enumerate(rows, start=1))  # from 1 on: a 0 would be a null pointer
        asked: dict[int, tuple[str, float]] = {}  # by number, the group and until when it is waited for
        answers: dict[str, GroupAnswer] = dict.fromkeys(rows, NOT_ASKED)
        with self._opened(operation) as batch:
            while waiting or asked:
                while waiting and len(asked) < limits.in_flight and time.monotonic() < limits.ends_at:
                    number, group = waiting.popleft()
                    if not limits.may_send():
                        answers[group] = NOT_SENT
                        continue
                    asked[number] = group, limits.ends_of_request()
                    self._ask(batch, number, group, rows[group])
                if not asked:
                    break
                for number, answer in self._answers(batch):
                    if number in asked:  # else it was given up
                        answers[asked.pop(number)[0]] = answer
                for group in _given_up(asked):
                    answers[group] = _NO_ANSWER
        return answers

    def _ask(self, batch: _Batch, number: int, group: str, rows: Sequence[Any] | None) -> None:
        bound = self._library
        partitions = None
        if rows is not None:  # without a list, all partitions are listed
            partitions = bound.topic_partition_list_new(len(rows))
            for row in rows:
                bound.add_partition(partitions, *row)
        bound.AdminOptions_set_opaque(batch.options, number)
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
                bound.leader_epoch_of(each),
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
            bound.AdminOptions_set_request_timeout(options, round(LONGEST_S * 1000), None, 0)
            if operation == _LIST:
                error = bound.AdminOptions_set_require_stable_offsets(options, 1)
                assert not error, "librdkafka knows the option since 1.9"
            yield _Batch(operation, queue, options)
        finally:  # answers that come later are dropped by librdkafka
            bound.queue_destroy(queue)
            bound.AdminOptions_destroy(options)


def _given_up(asked: dict[int, tuple[str, float]]) -> list[str]:
    """Take out of *asked* what has been waited for long enough; return the groups."""
    now = time.monotonic()
    late = [number for number, (_, until) in asked.items() if until <= now]
    return [asked.pop(number)[0] for number in late]
