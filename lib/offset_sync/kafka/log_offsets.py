"""Where logs begin and end, asked of each leader by itself: one that is silent keeps only its own partitions unknown.

librdkafka splits a request about many partitions by their leaders, and answers when the last of them has answered or
its time is up. So each leader gets a request of its own here, and what has come counts, whatever is still missing.
It asks any broker who leads what, though, and where that one is silent nobody answers: then another client asks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from offset_sync.kafka.error_codes import ABSENT_TOPIC, NOT_AUTHORIZED, RETRIABLE
from offset_sync.kafka.retry import attempts
from offset_sync.kafka.topic_requests import TRY_S, TopicRequests, error_name, wait_for_each
from offset_sync.model.values import TopicPartition

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
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
        waiting, began, is_answered = dict(leaders), time.monotonic(), False
        asked: dict[TopicPartition, list[Future[Any]]] = {each: [] for each in leaders}
        for _ in attempts(ends_at) if waiting else ():
            for each, future in self._ask(waiting, spec, options).items():
                asked[each].append(future)
            again_at = time.monotonic() + TRY_S
            wait(_all(asked, waiting), max(0.0, min(again_at, ends_at) - time.monotonic()), FIRST_COMPLETED)
            if not is_answered and any_done(_all(asked, waiting)):
                is_answered, took = True, time.monotonic() - began
                ends_at = min(ends_at, time.monotonic() + max(OTHERS_S, 3 * took))
                self._requests.note_answer()
            wait_for_each([asked[each] for each in waiting], min(again_at, ends_at))
            for each in list(waiting):
                if self._take(each, asked[each], found):
                    del waiting[each]
            if not waiting or time.monotonic() >= ends_at:
                break
            if not is_answered:
                self._requests.replace_silent_client()
        if not all(future.done() for future in _all(asked, leaders)):
            self._requests.leave_unread()
        return found

    def _ask(self, leaders: Mapping[TopicPartition, int], spec: OffsetSpec, options: Mapping[str, Any]) -> _Futures:
        futures: _Futures = {}
        for leader in sorted(set(leaders.values())):
            specs = {ClientPartition(*each): spec for each, number in leaders.items() if number == leader}
            answers = self._requests.offsets(specs, **options)
            futures |= {TopicPartition(each.topic, each.partition): future for each, future in answers.items()}
        return futures

    def _take(self, partition: TopicPartition, asked: list[Future[Any]], found: dict[TopicPartition, Position]) -> bool:
        """Put an answer into *found*; return False where the leader has to be asked again."""
        future = next((each for each in asked if each.done()), None)
        if future is None:
            return False
        try:
            answer = future.result()
        except KafkaException as error:
            name = error_name(error)
            if name not in NOT_AUTHORIZED | ABSENT_TOPIC | RETRIABLE:
                raise self._requests.error(f"{name} for {partition.topic}-{partition.partition}") from error
            asked.remove(future)
            return name not in RETRIABLE
        if answer.offset >= 0:
            found[partition] = Position(answer.offset, answer.leader_epoch)
        return True


def any_done(futures: Iterable[Future[Any]]) -> bool:
    """Return whether some leader has said where its logs begin or end."""
    return any(future.done() and future.exception() is None for future in futures)


def _all(asked: Mapping[TopicPartition, Sequence[Future[Any]]], of: Iterable[TopicPartition]) -> list[Future[Any]]:
    return [future for each in of for future in asked[each]]
