"""Requests about a cluster and its topics, through confluent-kafka's AdminClient, repeated until they are answered."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cached_property
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, TopicDescription  # type: ignore[attr-defined]

from offset_sync.kafka.error_codes import ABSENT_TOPIC, NOT_AUTHORIZED, RETRIABLE, NotAuthorizedError
from offset_sync.kafka.request_limits import LONGEST_S, is_topic_name
from offset_sync.kafka.retry import attempts
from offset_sync.model.errors import ClusterError

_REQUEST_S = 6.0
_CLIENT_S = 5.0
"""A client that nobody answers is used for a second, then two, then four, and for so long at most."""
_SHORTEST_S = 0.001
_OLDEST_S = 600.0
"""A client with requests that nobody waits for is used for so long: it keeps them until they are answered."""
TRY_S = 1.0
"""After so long another request is made beside the first: it may go to a broker that is not silent."""
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
        self._lock, self._opened_at, self._patience_s = threading.Lock(), 0.0, TRY_S
        self._client_errors: deque[KafkaError] = deque(maxlen=1)  # the last one, filled by the client

    def names(self, ends_at: float) -> list[str]:
        """Return the name of every topic that we may describe, internal ones too."""
        failure = "_TIMED_OUT"
        for left in attempts(ends_at):
            try:
                return sorted(self._client.list_topics(timeout=max(_timeout_s(left / 2), min(TRY_S, left))).topics)
            except KafkaException as error:
                failure = error_name(error)
                if failure not in RETRIABLE:
                    break
        raise self.error(f"{failure} for the list of topics")

    def cluster_id(self, ends_at: float) -> str:
        """Return Kafka's own id of the cluster, which every client may know."""

        def ask(keys: list[str]) -> Mapping[str, Future[Any]]:
            return {key: self._client.describe_cluster(request_timeout=LONGEST_S) for key in keys}

        found = list(allowed(self._collect(ask, ["the cluster's id"], ends_at)).values())
        if not found or not found[0].cluster_id:
            raise self.error("it does not tell its id")
        return str(found[0].cluster_id)

    def described(
        self, topics: Iterable[str], ends_at: float, *, with_rights: bool = False
    ) -> dict[str, TopicDescription | NotAuthorizedError]:
        """Return the descriptions of *topics*, asked for in one request; a topic that does not exist is left out.

        If we may not describe a topic nobody can tell whether it exists, so its entry is the error.
        """
        rights: dict[str, Any] = {"include_authorized_operations": True} if with_rights else {}

        def ask(names: list[str]) -> Mapping[str, Future[TopicDescription]]:
            return self._client.describe_topics(TopicCollection(names), request_timeout=LONGEST_S, **rights)

        return self._collect(ask, [name for name in dict.fromkeys(topics) if is_topic_name(name)], ends_at)

    def offsets(self, specs: Mapping[_Key, Any], **options: Any) -> Mapping[_Key, Future[Any]]:
        """Ask once where logs begin or end; *options* are those of ``AdminClient.list_offsets``."""
        return self._client.list_offsets(dict(specs), request_timeout=LONGEST_S, **options)  # type: ignore[arg-type,return-value]

    def _collect(
        self, ask: Callable[[list[_Key]], Mapping[_Key, Future[_Value]]], wanted: list[_Key], ends_at: float
    ) -> dict[_Key, _Value | NotAuthorizedError]:
        """Ask until each topic is answered, refused or known to be absent."""
        found: dict[_Key, _Value | NotAuthorizedError] = {}
        failures: dict[_Key, str] = {}
        asked: dict[_Key, list[Future[_Value]]] = {}
        for left in attempts(ends_at) if wanted else ():
            failures = {}
            for key, future in ask(wanted).items():
                asked.setdefault(key, []).append(future)
            wait_for_each([asked[key] for key in wanted], time.monotonic() + min(TRY_S, _timeout_s(left)))
            for key in wanted:
                answered = next((each for each in asked[key] if each.done()), None)
                if answered is None:
                    failures[key] = "_TIMED_OUT"
                    continue
                self.note_answer()
                try:
                    found[key] = answered.result()
                except KafkaException as error:
                    asked[key].remove(answered)
                    name = error_name(error)
                    if name in NOT_AUTHORIZED:
                        found[key] = NotAuthorizedError(self.alias, str(key))
                    elif name not in ABSENT_TOPIC:
                        failures[key] = name
            wanted = [key for key, name in failures.items() if name in RETRIABLE]
            if len(wanted) < len(failures) or not wanted:
                break
            if all(asked[key] for key in wanted):  # nobody has said anything
                self.replace_silent_client()
        if not all(future.done() for futures in asked.values() for future in futures):
            self.leave_unread()
        if failures:
            key, name = next(iter(failures.items()))
            raise self.error(f"{name} for {key!r}" + (f" and {len(failures) - 1} more" if len(failures) > 1 else ""))
        return found

    def leave_unread(self) -> None:
        """Note that nobody waits for some answer any more."""
        self._replace_client(_OLDEST_S)

    def note_answer(self) -> None:
        """Note that somebody has answered the client."""
        self._patience_s = TRY_S

    def replace_silent_client(self) -> None:
        """Ask through a new client from now on, where nobody has answered the present one for long enough.

        A client takes one broker for the controller, by KRaft any one, and asks none but that about topics, and any
        one about who leads what, however long it is silent while the others answer. The next may choose better.
        """
        with self._lock:
            patience_s = self._patience_s
        if self._replace_client(patience_s):
            self._patience_s = min(2 * patience_s, _CLIENT_S)

    def _replace_client(self, oldest_s: float) -> bool:
        """Replace the client and return True, unless it is younger than *oldest_s*."""
        with self._lock:
            if time.monotonic() - self._opened_at < oldest_s:
                return False
            before = self.__dict__.pop("_client", None)
        # To take a client down may wait for a silent broker.
        threading.Thread(target=_drop_later, args=([before],), name="old client", daemon=True).start()
        return True

    @cached_property
    def _client(self) -> AdminClient:
        self._opened_at = time.monotonic()
        return self._open()

    def _open(self) -> AdminClient:
        options: dict[str, Any] = {**self._options, "error_cb": _noting(self._client_errors)}
        try:
            return AdminClient(options)
        except (KafkaException, ValueError, TypeError) as error:
            raise ClusterError(self.alias, f"the client refuses its options: {error}") from error

    def error(self, message: str) -> ClusterError:
        """Return *message* as an error of the cluster, with what the client last complained of."""
        self._client.poll(0)
        cause = f" ({self._client_errors[-1].str()})" if self._client_errors else ""
        return ClusterError(self.alias, message + cause)


def allowed(answers: Mapping[_Key, _Value | NotAuthorizedError]) -> dict[_Key, _Value]:
    """Return the answers without those that we were refused."""
    return {key: answer for key, answer in answers.items() if not isinstance(answer, NotAuthorizedError)}


def error_name(error: KafkaException) -> str:
    """Return the name of an error, as in ``error_codes``."""
    return str(error.args[0].name())


def _noting(errors: deque[KafkaError]) -> Callable[[KafkaError], None]:
    """Return what remembers why a broker cannot be reached; that all of them cannot follows, and would hide it.

    It knows nothing of who has the client: a client in a circle of references is taken apart by the garbage collector
    before it is closed, and takes the process with it (seen: a segmentation fault; ``Handle_clear`` of confluent-kafka
    2.16 gives a key back that closing the client still uses).
    """

    def note(error: KafkaError) -> None:
        if error.name() != "_ALL_BROKERS_DOWN" or not errors:
            errors.append(error)

    return note


def _timeout_s(left_s: float) -> float:
    return max(_SHORTEST_S, min(_REQUEST_S, left_s))


def _drop_later(clients: list[AdminClient]) -> None:
    """Take clients down when nobody can be waiting for their answers any more."""
    time.sleep(2 * _REQUEST_S)
    clients.clear()


def wait_for_each(askings: Collection[Collection[Future[Any]]], until: float) -> None:
    """Return when of each of *askings* one has been answered, at the latest at *until*."""
    while left := max(0.0, until - time.monotonic()):
        silent = [future for asking in askings if not any(each.done() for each in asking) for future in asking]
        if not silent:
            return
        wait(silent, left, FIRST_COMPLETED)
