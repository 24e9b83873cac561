"""Requests about topics to one cluster, through confluent-kafka's AdminClient, repeated until they are answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.error_codes import ABSENT_TOPIC, NOT_AUTHORIZED, RETRIABLE, NotAuthorizedError
from offset_sync.kafka.request_limits import is_topic_name
from offset_sync.kafka.retry import attempts
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_REQUEST_S = 6.0
_SHORTEST_S = 0.001  # to the client, 0 means 'for ever' or an error
_GRACE_S = 0.5
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class TopicRequests:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it.

    *ends_at* is on ``time.monotonic``'s clock. ClusterError is raised where the cluster does not answer until then, or
    answers with an error that no repetition mends.
    """

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self.alias = alias
        self._options = dict(options)
        self._client_errors: deque[KafkaError] = deque(maxlen=1)  # the last one, filled by the client

    def names(self, ends_at: float) -> list[str]:
        """Return the name of every topic that we may describe, internal ones too."""
        failure = "_TIMED_OUT"
        for left in attempts(ends_at):
            try:
                return sorted(self._client.list_topics(timeout=_timeout_s(left)).topics)
            except KafkaException as error:
                failure = error_name(error)
                if failure not in RETRIABLE:
                    break
        raise self._error(f"{failure} for the list of topics")

    def described(
        self, topics: Iterable[str], ends_at: float, *, with_rights: bool = False
    ) -> dict[str, TopicDescription | NotAuthorizedError]:
        """Return the descriptions of *topics*, asked for in one request; a topic that does not exist is left out.

        If we may not describe a topic nobody can tell whether it exists, so its entry is the error.
        """
        rights: dict[str, Any] = {"include_authorized_operations": True} if with_rights else {}

        def ask(names: list[str], timeout_s: float) -> Mapping[str, Future[TopicDescription]]:
            return self._client.describe_topics(TopicCollection(names), request_timeout=timeout_s, **rights)

        return self._collect(ask, [name for name in dict.fromkeys(topics) if is_topic_name(name)], ends_at)

    def offsets(
        self, partitions: list[TopicPartition], spec: OffsetSpec, ends_at: float, **options: IsolationLevel
    ) -> dict[TopicPartition, int]:
        """Return the offset that *spec* means in each partition; those that do not exist are left out."""
        return {each: offset for each, (offset, _) in self.positions(partitions, spec, ends_at, **options).items()}

    def positions(
        self, partitions: list[TopicPartition], spec: OffsetSpec, ends_at: float, **options: IsolationLevel
    ) -> dict[TopicPartition, tuple[int, int | None]]:
        """Return the offset that *spec* means in each partition that exists, and the leader epoch if it is known."""

        def ask(wanted: list[TopicPartition], timeout_s: float) -> Mapping[TopicPartition, Future[Any]]:
            specs = {ClientPartition(each.topic, each.partition): spec for each in wanted}
            futures = self._client.list_offsets(specs, request_timeout=timeout_s, **options)
            return {TopicPartition(each.topic, each.partition): future for each, future in futures.items()}

        found = allowed(self._collect(ask, partitions, ends_at))
        return {each: (result.offset, result.leader_epoch) for each, result in found.items() if result.offset >= 0}

    def _collect(
        self, ask: Callable[[list[_Key], float], Mapping[_Key, Future[_Value]]], wanted: list[_Key], ends_at: float
    ) -> dict[_Key, _Value | NotAuthorizedError]:
        """Ask until each key, a topic or a partition, is answered, refused or known to be absent."""
        found: dict[_Key, _Value | NotAuthorizedError] = {}
        failures: dict[_Key, str] = {}
        for left in attempts(ends_at) if wanted else ():
            timeout_s = _timeout_s(left)
            failures = {}
            for key, future in ask(wanted, timeout_s).items():
                try:
                    found[key] = future.result(timeout_s + _GRACE_S)
                except FutureTimeout:
                    failures[key] = "_TIMED_OUT"
                except KafkaException as error:
                    name = error_name(error)
                    if name in NOT_AUTHORIZED:
                        topic = key.topic if isinstance(key, TopicPartition) else str(key)
                        found[key] = NotAuthorizedError(self.alias, topic)
                    elif name not in ABSENT_TOPIC:
                        failures[key] = name
            wanted = [key for key, name in failures.items() if name in RETRIABLE]
            if len(wanted) < len(failures) or not wanted:
                break
        if failures:
            key, name = next(iter(failures.items()))
            raise self._error(f"{name} for {key!r}" + (f" and {len(failures) - 1} more" if len(failures) > 1 else ""))
        return found

    @cached_property
    def _client(self) -> AdminClient:
        options: dict[str, Any] = {**self._options, "error_cb": self._note}
        try:
            return AdminClient(options)
        except (KafkaException, ValueError, TypeError) as error:
            raise ClusterError(self.alias, f"the client refuses its options: {error}") from error

    def _note(self, error: KafkaError) -> None:
        """Remember why a broker cannot be reached; that all of them cannot follows, and would hide it."""
        if error.name() != "_ALL_BROKERS_DOWN" or not self._client_errors:
            self._client_errors.append(error)

    def _error(self, message: str) -> ClusterError:
        self._client.poll(0)
        cause = f" ({self._client_errors[-1].str()})" if self._client_errors else ""
        return ClusterError(self.alias, message + cause)


def allowed(answers: Mapping[_Key, _Value | NotAuthorizedError]) -> dict[_Key, _Value]:
    """Return the answers without those that we were refused."""
    return {key: answer for key, answer in answers.items() if not isinstance(answer, NotAuthorizedError)}


def error_name(error: KafkaException) -> str:
    """Return the name of an error, as in ``error_codes``."""
    return str(error.args[0].name())


def _timeout_s(left_s: float) -> float:
    return max(_SHORTEST_S, min(_REQUEST_S, left_s))
