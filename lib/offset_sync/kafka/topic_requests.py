"""Requests about a cluster, its topics and logs, through confluent-kafka's AdminClient, retried until answered.

librdkafka splits a request for the ends of many logs by leader, and answers when the last of them has answered or timed
out. So each leader gets a request of its own here, and received answers count, whatever is missing: a silent leader
leaves only its own partitions unknown. But librdkafka asks any one broker for the leaders, and while that one is silent
no request is answered: then a new client is used.
"""

from __future__ import annotations

import _thread
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import ConsumerGroupState, IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ClusterMetadata,
    ListOffsetsResultInfo,
    OffsetSpec,
    TopicDescription,
)

from offset_sync.kafka.clients import open_client
from offset_sync.kafka.librdkafka import CLIENT_OPTIONS, cluster_id_of, refuse_other
from offset_sync.kafka.requests import (
    ABSENT_TOPIC,
    LONGEST_S,
    RETRIABLE,
    TOPIC_REFUSED,
    UNREACHABLE,
    NotAuthorizedError,
    TopicInfo,
    attempts,
    is_topic_name,
)
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import CLUSTER_ID, TopicPartition

DEADLINE_S = 15.0
# Defaults that the caller's options override; short backoffs, to reconnect soon to a restarted broker.
_OPTIONS = {**CLIENT_OPTIONS, "reconnect.backoff.ms": "250", "reconnect.backoff.max.ms": "1000"}
_REQUEST_S = 6.0
_BITS = 2**64 - 1
_SILENT_S = 2.0
"""How long an unanswered client is used.

A client sends requests about topics to one broker only, its controller (any broker by KRaft), and those about leaders
to any one, however long that one is silent while others answer. The next client may choose better.
"""
_SHORTEST_S = 0.001
_OLDEST_S = 600.0
"""How long a client with abandoned requests is used: it keeps them until they are answered."""
TRY_S = 1.0
"""After this time a second request is sent: it may go to a broker that is not silent."""
OTHERS_S = 2.0
"""How long to wait for other leaders after the first answer, or three times as long as that took."""
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class TopicRequests:
    """One cluster, named by its alias; *options* are librdkafka's. Threads may share it.

    A *deadline* is in seconds from the call on, *ends_at* on ``time.monotonic``'s clock. ClusterError is raised where
    the cluster does not answer until then, or answers with an error that is not retriable; OtherClusterError where
    another cluster answers than the first time.
    """

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self.alias = alias
        self._options = {**_OPTIONS, **options}
        self._cluster_id = self._options.get(CLUSTER_ID, "")
        self._clients = list[AdminClient]()  # the one in use is the last; those before it may still be answered
        # Else the garbage collector clears the clients of an owner in a reference cycle, as all of a job is, before
        # they are closed, which crashes the process (seen: a segmentation fault; Handle_clear of confluent-kafka 2.16
        # frees a key that closing the client still uses).
        weakref.finalize(self, _close, self._clients).atexit = False
        self._lock, self._opened_at = threading.Lock(), 0.0
        self._client_errors: deque[KafkaError] = deque(maxlen=2)  # the last ones, filled by the client

    def metadata(self, deadline: float = DEADLINE_S) -> ClusterMetadata:
        """Return the brokers, and every topic that we may describe, including internal ones."""
        failure = "_TIMED_OUT"
        for left in attempts(time.monotonic() + deadline):
            patience_s = left if left < 2 * TRY_S else min(_REQUEST_S, left / 2)
            try:
                listed = self._client.list_topics(timeout=max(_SHORTEST_S, patience_s))
                self.refuse_others()
                return listed
            except KafkaException as error:
                failure = error_name(error)
                if failure not in RETRIABLE:
                    break
        raise self.error(f"{failure} for listing topics")

    def topic_names(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the cluster's own name of every topic that we may describe, including internal ones."""
        return sorted(self.metadata(deadline).topics)

    def cluster_id(self, deadline: float = DEADLINE_S) -> str:
        """Return Kafka's own id of the cluster, which needs no rights."""
        if not (found := cluster_id_of(self._client, deadline)):
            raise self.error(f"it has not told its cluster id within {deadline:g} s")
        self.refuse_others()
        return found

    def groups(self, deadline: float = DEADLINE_S) -> dict[str, bool]:
        """Return the classic and consumer groups that we may describe, each with whether it has members.

        A state unknown to this client counts as having some. Of any other group, of another type or not described to
        us, it is unknown. Raises ClusterError if any broker does not answer, as its groups would look empty; so another
        request, or another client, would get no answer either.
        """
        listed, error = answer_of(self._client.list_consumer_groups(request_timeout=LONGEST_S), deadline)
        if error:
            self._replace_client(_OLDEST_S)
        else:
            self.refuse_others()
        if error or listed.errors:
            raise self.error(f"{error or error_name(listed.errors[0])} for ListGroups; check that all brokers run")
        return {each.group_id: each.state not in _WITHOUT_MEMBERS for each in listed.valid}

    def groups_of_all_types(self, deadline: float = DEADLINE_S) -> list[str]:
        """Return the groups of every type that we may describe; every broker also describes all of its groups.

        Deprecated in favour of the call that lists consumer groups only.
        """
        try:
            found: list[Any] = self._client.list_groups(timeout=deadline)
        except KafkaException as problem:
            raise self.error(f"a broker does not list its groups: {problem.args[0].str()}") from problem
        self.refuse_others()
        return sorted(each.id for each in found)

    def refuse_others(self, *found: str) -> None:
        """Raise OtherClusterError if one of our clients, or of the ids *found*, is of another cluster than at first.

        To be called with answers, before they are used. Then a new client starts from ``bootstrap.servers``.
        """
        for cluster_id in (*map(cluster_id_of, list(self._clients)), *found):
            try:
                refuse_other(self.alias, self._cluster_id, cluster_id)
            except OtherClusterError:
                self._replace_client(TRY_S)
                raise
            self._cluster_id = self._cluster_id or cluster_id

    def described(
        self, topics: Iterable[str], ends_at: float, *, with_rights: bool = False
    ) -> dict[str, TopicInfo | NotAuthorizedError]:
        """Return the descriptions of *topics*, by one request; a topic that does not exist is left out.

        If we may not describe a topic, it is unknown whether it exists, so its entry is the error.
        """
        rights: dict[str, Any] = {"include_authorized_operations": True} if with_rights else {}

        def ask(names: list[str]) -> Mapping[str, Future[TopicDescription]]:
            return self._client.describe_topics(TopicCollection(names), request_timeout=LONGEST_S, **rights)

        found = self._collect(ask, [name for name in dict.fromkeys(topics) if is_topic_name(name)], ends_at)
        return {name: each if isinstance(each, NotAuthorizedError) else _to_info(each) for name, each in found.items()}

    def offsets(
        self, leaders: Mapping[TopicPartition, int], spec: OffsetSpec, ends_at: float, **options: IsolationLevel
    ) -> dict[TopicPartition, ListOffsetsResultInfo]:
        """Return the offset of *spec* in each partition, with its leader epoch; *leaders* has the id of its leader.

        Partitions that do not exist, may not be described, or whose leader has not answered are left out. *options*
        are those of ``AdminClient.list_offsets``.
        """

        def ask(partitions: list[TopicPartition]) -> Mapping[TopicPartition, Future[Any]]:
            futures: dict[TopicPartition, Future[Any]] = {}
            for leader in sorted({leaders[each] for each in partitions}):
                specs: Any = {ClientPartition(*each): spec for each in partitions if leaders[each] == leader}
                answers: Any = self._client.list_offsets(specs, request_timeout=LONGEST_S, **options)
                futures |= {TopicPartition(each.topic, each.partition): future for each, future in answers.items()}
            return futures

        found = allowed(self._collect(ask, list(leaders), ends_at, leaves_out_silent=True))
        return {each: answer for each, answer in found.items() if answer.offset >= 0}

    def _collect(
        self,
        ask: Callable[[list[_Key]], Mapping[_Key, Future[_Value]]],
        wanted: Collection[_Key],
        ends_at: float,
        *,
        leaves_out_silent: bool = False,
    ) -> dict[_Key, _Value | NotAuthorizedError]:
        """Retry until each of *wanted* is answered, refused or known to be absent, and left out.

        With *leaves_out_silent* only some have to be answered, and after the first one the others have a moment only.
        """
        found: dict[_Key, _Value | NotAuthorizedError] = {}
        failures: dict[_Key, str] = {}
        asked: dict[_Key, list[Future[_Value]]] = {key: [] for key in wanted}
        waiting, began, is_answered = list(wanted), time.monotonic(), False
        for _ in attempts(ends_at) if waiting else ():
            for key, future in ask(waiting).items():
                asked[key].append(future)
            again_at = time.monotonic() + TRY_S
            left = [future for key in waiting for future in asked[key]]
            wait(left, max(0.0, min(again_at, ends_at) - time.monotonic()), FIRST_COMPLETED)
            if not is_answered and any(future.done() and future.exception() is None for future in left):
                is_answered = True
                if leaves_out_silent:
                    took_s = time.monotonic() - began
                    ends_at = min(ends_at, time.monotonic() + max(OTHERS_S, 3 * took_s))
            _wait_for_each([asked[key] for key in waiting], min(again_at, ends_at))
            failures = self._take({key: asked[key] for key in waiting}, found)
            waiting = [key for key, name in failures.items() if name in RETRIABLE]
            if len(waiting) < len(failures) or not waiting or time.monotonic() >= ends_at:
                break
            if not is_answered and UNREACHABLE.issuperset(failures.values()):
                self._replace_client(_SILENT_S)
        if not all(future.done() for futures in asked.values() for future in futures):
            self._replace_client(_OLDEST_S)
        self.refuse_others()
        failed = [key for key, name in failures.items() if not (leaves_out_silent and name in RETRIABLE)]
        if failed:
            more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
            raise self.error(f"{failures[failed[0]]} for {_shown(failed[0])}{more}")
        return found

    def _take(
        self, asked: Mapping[_Key, list[Future[_Value]]], found: dict[_Key, _Value | NotAuthorizedError]
    ) -> dict[_Key, str]:
        """Put answers into *found*, and return the error of each key without one, except for absent topics."""
        failures: dict[_Key, str] = {}
        for key, futures in asked.items():
            answered = next((each for each in futures if each.done()), None)
            if answered is None:
                failures[key] = "_TIMED_OUT"
                continue
            try:
                found[key] = answered.result()
            except KafkaException as error:
                futures.remove(answered)
                name = error_name(error)
                if name == TOPIC_REFUSED:
                    found[key] = NotAuthorizedError(self.alias, str(key))
                elif name not in ABSENT_TOPIC:
                    failures[key] = name
        return failures

    def _replace_client(self, oldest_s: float) -> None:
        """Replace the client, unless it is younger than *oldest_s*."""
        with self._lock:
            if time.monotonic() - self._opened_at < oldest_s:
                return
            before = self.__dict__.pop("_client", None)
        # Closing a client may wait for a silent broker.
        arguments = self._clients, [before]
        threading.Thread(target=_drop_later, args=arguments, name="old client", daemon=True).start()

    @cached_property
    def _client(self) -> AdminClient:
        self._opened_at = time.monotonic()
        self._clients.append(opened := self._open())
        return opened

    def _open(self) -> AdminClient:
        return open_client(AdminClient, self.alias, {**self._options, "error_cb": self._client_errors.append})

    def error(self, message: str) -> ClusterError:
        """Return *message* as an error of the cluster, with the client's last errors."""
        self._client.poll(0)
        causes = ", ".join(each.str() for each in self._client_errors)
        return ClusterError(self.alias, f"{message} ({causes})" if causes else message)


def _close(clients: list[AdminClient]) -> None:
    _thread.start_new_thread(clients.clear, ())  # as in group_offsets: it may wait, and this thread may hold locks


def _to_info(description: Any) -> TopicInfo:  # the stubs lack the id's methods, and that a leader may be away
    topic_id = description.topic_id
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()  # signed
    return TopicInfo(
        str(uuid.UUID(int=(high & _BITS) << 64 | low & _BITS)),
        len(description.partitions),
        {each.id: each.leader.id for each in description.partitions if each.leader is not None},
        operations_of(description),
        description.is_internal,
    )


def operations_of(description: Any) -> frozenset[str]:
    """Return the names of the operations that we may do: READ, DESCRIBE, ALTER_CONFIGS, …"""
    return frozenset(each.name for each in description.authorized_operations or ())


def allowed(answers: Mapping[_Key, _Value | NotAuthorizedError]) -> dict[_Key, _Value]:
    """Return the answers without refusals."""
    return {key: answer for key, answer in answers.items() if not isinstance(answer, NotAuthorizedError)}


def error_name(error: KafkaException) -> str:
    """Return the name of an error, as in ``requests``."""
    return str(error.args[0].name())


def answer_of(future: Future[Any], seconds: float) -> tuple[Any, str]:
    """Return the answer within *seconds* and "", or None and the name of an error."""
    try:
        return future.result(max(0.0, seconds)), ""
    except KafkaException as error:
        return None, error_name(error)
    except FutureTimeout:
        return None, "_TIMED_OUT"


def _shown(key: object) -> str:
    return f"{key.topic}-{key.partition}" if isinstance(key, TopicPartition) else str(key)


def _drop_later(clients: list[AdminClient], before: list[AdminClient]) -> None:
    """Close clients when no thread can be waiting for their answers any more."""
    time.sleep(2 * _REQUEST_S)
    clients[:] = [each for each in clients if each not in before]
    before.clear()


def _wait_for_each(askings: Collection[Collection[Future[Any]]], until: float) -> None:
    """Return when one of each of *askings* is answered, at the latest at *until*."""
    while left := max(0.0, until - time.monotonic()):
        silent = [future for asking in askings if not any(each.done() for each in asking) for future in asking]
        if not silent:
            return
        wait(silent, left, FIRST_COMPLETED)
