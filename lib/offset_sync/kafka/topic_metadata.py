"""Topic ids, partition counts and log ends, through confluent-kafka's AdminClient."""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AclOperation, AdminClient, OffsetSpec, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.error_codes import ABSENT_TOPIC, NOT_AUTHORIZED, RETRIABLE, NotAuthorizedError
from offset_sync.kafka.request_limits import is_topic_name
from offset_sync.kafka.retry import attempts
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_REQUEST_S = 6.0
_SHORTEST_S = 0.001  # to the client, 0 means 'for ever' or an error
_GRACE_S = 0.5
_BITS = 2**64 - 1
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class TopicInfo:
    """*topic_id* in canonical hexadecimal form (36 characters): another one means another topic of the same name."""

    topic_id: str
    partitions: int


@dataclass(frozen=True)
class LogEnds:
    """The offsets a partition holds, half-open; *log_end* is the high watermark."""

    log_start: int
    log_end: int


@dataclass(frozen=True)
class Reach:
    """How far a log can be read: to *stable* where only committed records count, to *high* otherwise.

    *stable* is the last stable offset, the beginning of the oldest open transaction; it is never above *high*.
    """

    stable: int
    high: int


class Topics:
    """What a cluster says about its topics. *deadline* is in seconds, from the call on."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias = alias
        self._options = dict(options)
        self._complaints: deque[KafkaError] = deque(maxlen=1)  # the last one, filled by the client

    def names(self, deadline: float) -> list[str]:
        """Return the name of every topic that may be described, internal ones too."""
        ends_at = time.monotonic() + deadline
        failure = "_TIMED_OUT"
        for left in attempts(ends_at):
            try:
                return sorted(self._client.list_topics(timeout=max(_SHORTEST_S, min(_REQUEST_S, left))).topics)
            except KafkaException as error:
                failure = _name(error)
                if failure not in RETRIABLE:
                    break
        raise self._error(f"{failure} for the list of topics")

    def listed(self, deadline: float) -> dict[str, TopicInfo]:
        """Return id and partition count of every topic that may be described and is not internal."""
        ends_at = time.monotonic() + deadline
        described = _allowed(self.described(self.names(deadline), ends_at - time.monotonic()))
        return {name: to_topic_info(topic) for name, topic in described.items() if not topic.is_internal}

    def is_answered(self, deadline: float) -> bool:
        """Return whether any broker answers anything."""
        try:
            self.names(deadline)
        except ClusterError:
            return False
        return True

    def described(self, topics: Iterable[str], deadline: float) -> dict[str, TopicDescription | NotAuthorizedError]:
        """Return what is known of *topics*, asked for in one request; a topic that does not exist is left out.

        Of one that may not be described nobody can tell whether it exists: its entry is the error.
        """

        def ask(names: list[str], timeout_s: float) -> Mapping[str, Future[TopicDescription]]:
            return self._client.describe_topics(TopicCollection(names), request_timeout=timeout_s)

        return self._collect(ask, [name for name in dict.fromkeys(topics) if is_topic_name(name)], deadline)

    def unreadable(self, topics: Iterable[str], deadline: float) -> dict[str, NotAuthorizedError]:
        """Return those of *topics* that may be described and not read; a cluster that tells of no rights has none."""

        def ask(names: list[str], timeout_s: float) -> Mapping[str, Future[TopicDescription]]:
            wanted = TopicCollection(names)
            return self._client.describe_topics(wanted, request_timeout=timeout_s, include_authorized_operations=True)

        found = self._collect(ask, list(dict.fromkeys(topics)), deadline)
        rights: dict[str, Any] = {name: each.authorized_operations for name, each in _allowed(found).items()}
        refused = [name for name, allowed in rights.items() if allowed and AclOperation.READ not in allowed]
        return {name: NotAuthorizedError(self._alias, name, "Read") for name in refused}

    def partition_count(self, topic: str, deadline: float) -> int | None:
        """Return how many there are, None where there is no such topic, which is not created.

        Raises NotAuthorizedError where it may not be described: it is not to be taken for absent.
        """
        found = to_topic_infos(self.described([topic], deadline)).get(topic)
        if isinstance(found, NotAuthorizedError):
            raise found
        return None if found is None else found.partitions

    def ends(self, partitions: Iterable[TopicPartition], deadline: float) -> dict[TopicPartition, LogEnds]:
        """Return the log ends; one that does not exist, may not be described, or has no leader now, is left out.

        Leaderless partitions are not asked for: librdkafka would let the whole request wait for them. The log start is
        read first, so a retention that runs in between makes it too small, never too large.
        """
        ends_at = time.monotonic() + deadline
        wanted = set(partitions)
        described = _allowed(self.described({each.topic for each in wanted}, deadline))
        led = {TopicPartition(name, number) for name in described for number in _led(described[name])}
        asked = sorted(wanted & led, key=lambda each: (each.topic, each.partition))
        starts = self._offsets(asked, _EARLIEST, ends_at)
        stops = self._offsets([each for each in asked if each in starts], _LATEST, ends_at)
        return {each: LogEnds(starts[each], max(starts[each], stops[each])) for each in asked if each in stops}

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float) -> dict[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read; one without a leader now is left out.

        The stable end is read first: what is committed in between makes it too small, never too large.
        """
        ends_at = time.monotonic() + deadline
        described = _allowed(self.described([name for name in self.names(deadline) if is_wanted(name)], deadline))
        asked = [TopicPartition(name, number) for name in sorted(described) for number in _led(described[name])]
        stable = self._offsets(asked, _LATEST, ends_at, isolation_level=IsolationLevel.READ_COMMITTED)
        high = self._offsets([each for each in asked if each in stable], _LATEST, ends_at)
        return {each: Reach(stable[each], max(stable[each], high[each])) for each in asked if each in high}

    def _offsets(
        self, partitions: list[TopicPartition], spec: OffsetSpec, ends_at: float, **options: IsolationLevel
    ) -> dict[TopicPartition, int]:
        def ask(wanted: list[TopicPartition], timeout_s: float) -> Mapping[TopicPartition, Future[Any]]:
            specs = {ClientPartition(each.topic, each.partition): spec for each in wanted}
            futures = self._client.list_offsets(specs, request_timeout=timeout_s, **options)
            return {TopicPartition(each.topic, each.partition): future for each, future in futures.items()}

        found = _allowed(self._collect(ask, partitions, ends_at - time.monotonic()))
        return {each: result.offset for each, result in found.items() if result.offset >= 0}

    def _collect(
        self,
        ask: Callable[[list[_Key], float], Mapping[_Key, Future[_Value]]],
        wanted: list[_Key],
        deadline: float,
    ) -> dict[_Key, _Value | NotAuthorizedError]:
        """Ask until each key, a topic or a partition, is answered, refused or known to be absent.

        Raises ClusterError for what is none of these.
        """
        found: dict[_Key, _Value | NotAuthorizedError] = {}
        failures: dict[_Key, str] = {}
        for left in attempts(time.monotonic() + deadline) if wanted else ():
            timeout_s = max(_SHORTEST_S, min(_REQUEST_S, left))
            futures = ask(wanted, timeout_s)
            failures = {}
            for key, future in futures.items():
                try:
                    found[key] = future.result(timeout_s + _GRACE_S)
                except FutureTimeout:
                    failures[key] = "_TIMED_OUT"
                except KafkaException as error:
                    if _name(error) in NOT_AUTHORIZED:
                        topic = key.topic if isinstance(key, TopicPartition) else str(key)
                        found[key] = NotAuthorizedError(self._alias, topic)
                    elif _name(error) not in ABSENT_TOPIC:
                        failures[key] = _name(error)
            wanted = [key for key, name in failures.items() if name in RETRIABLE]
            if len(wanted) < len(failures) or not wanted:
                break
        if failures:
            key, name = next(iter(failures.items()))
            raise self._error(f"{name} for {key!r}" + (f" and {len(failures) - 1} more" if len(failures) > 1 else ""))
        return found

    @cached_property
    def _client(self) -> AdminClient:
        options: dict[str, Any] = {**self._options, "error_cb": self._complaints.append}
        try:
            return AdminClient(options)
        except (KafkaException, ValueError, TypeError) as error:
            raise ClusterError(self._alias, f"the client refuses its options: {error}") from error

    def _error(self, message: str) -> ClusterError:
        self._client.poll(0)
        complaint = f" ({self._complaints[-1].str()})" if self._complaints else ""
        return ClusterError(self._alias, message + complaint)


def to_topic_infos(
    described: Mapping[str, TopicDescription | NotAuthorizedError],
) -> dict[str, TopicInfo | NotAuthorizedError]:
    """Return id and partition count of each topic; errors stay what they are."""
    return {
        name: each if isinstance(each, NotAuthorizedError) else to_topic_info(each) for name, each in described.items()
    }


def to_topic_info(description: TopicDescription) -> TopicInfo:
    """Return id and partition count."""
    topic_id: Any = description.topic_id  # the client's type stubs lack the two methods
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()  # signed
    return TopicInfo(str(uuid.UUID(int=(high & _BITS) << 64 | low & _BITS)), len(description.partitions))


def _allowed(answers: Mapping[_Key, _Value | NotAuthorizedError]) -> dict[_Key, _Value]:
    return {key: answer for key, answer in answers.items() if not isinstance(answer, NotAuthorizedError)}


def _led(description: TopicDescription) -> list[int]:
    partitions: list[Any] = description.partitions
    return [each.id for each in partitions if each.leader is not None]


def _name(error: KafkaException) -> str:
    return str(error.args[0].name())
