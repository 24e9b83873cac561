"""Where logs begin and end, asked of each leader by itself: one that is silent keeps only its own partitions unknown.

librdkafka splits a request about many partitions by their leaders, and answers when the last of them has answered or
its time is up. So each leader gets a request of its own here, and what has come counts, whatever is still missing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from offset_sync.kafka.error_codes import ABSENT_TOPIC, NOT_AUTHORIZED, RETRIABLE
from offset_sync.kafka.retry import attempts
from offset_sync.kafka.topic_requests import TopicRequests, error_name
from offset_sync.model.values import TopicPartition

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_REQUEST_S = 6.0
OTHERS_S = 2.0
"""When some leader has answered, the others are waited for so long, or three times as long as the first took."""

_Futures = dict[TopicPartition, "Future[Any]"]


class Position(NamedTuple):
    """An offset in a log, and the leader epoch where it is known."""

    offset: int
    leader_epoch: int | None


class LogOffsets:
    """Asks through *requests*; threads may share it."""

    def __init__(self, requests: TopicRequests) -> None:
        self._requests = requests

    def read(
        self, leaders: Mapping[TopicPartition, int], spec: OffsetSpec, ends_at: float, **options: IsolationLevel
    ) -> dict[TopicPartition, Position]:
        """Return what *spec* means in each partition; *leaders* has the number of the broker that leads it.

        Partitions that do not exist, may not be described, or whose leader has not answered are left out: nobody
        knows then. *ends_at* is on ``time.monotonic``'s clock. Raises ClusterError for an error that no repetition
        mends.
        """
        found: dict[TopicPartition, Position] = {}
        waiting = dict(leaders)
        for _ in attempts(ends_at) if waiting else ():
            began, left = time.monotonic(), ends_at - time.monotonic()
            futures = self._ask(waiting, spec, options)
            wait(futures.values(), min(_REQUEST_S, max(left, 0.0)), FIRST_COMPLETED)
            took = time.monotonic() - began
            ends_at = min(ends_at, time.monotonic() + max(OTHERS_S, 3 * took)) if any_done(futures) else ends_at
            wait(futures.values(), max(0.0, min(_REQUEST_S, ends_at - time.monotonic())))
            for each, future in futures.items():
                if self._take(each, future, found):
                    del waiting[each]
            if not all(future.done() for future in futures.values()):
                self._requests.leave_unread()
            if not waiting or time.monotonic() >= ends_at:
                break
        return found

    def _ask(self, leaders: Mapping[TopicPartition, int], spec: OffsetSpec, options: Mapping[str, Any]) -> _Futures:
        futures: _Futures = {}
        for leader in sorted(set(leaders.values())):
            specs = {ClientPartition(*each): spec for each, number in leaders.items() if number == leader}
            answers = self._requests.offsets(specs, **options)
            futures |= {TopicPartition(each.topic, each.partition): future for each, future in answers.items()}
        return futures

    def _take(self, partition: TopicPartition, future: Future[Any], found: dict[TopicPartition, Position]) -> bool:
        """Put an answer into *found*; return False where the leader has to be asked again."""
        if not future.done():
            return False
        try:
            answer = future.result()
        except KafkaException as error:
            name = error_name(error)
            if name not in NOT_AUTHORIZED | ABSENT_TOPIC | RETRIABLE:
                raise self._requests.error(f"{name} for {partition.topic}-{partition.partition}") from error
            return name not in RETRIABLE
        if answer.offset >= 0:
            found[partition] = Position(answer.offset, answer.leader_epoch)
        return True


def any_done(futures: _Futures) -> bool:
    """Return whether some leader has said where its logs begin or end."""
    return any(future.done() and future.exception() is None for future in futures.values())
