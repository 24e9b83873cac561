"""Reads and writes the commits that belong to a group.

Each group of commits takes a consumer of its own, which never joins the group. An AdminClient would do with one, but
librdkafka (2.16) ends the process with it: with SIGSEGV when a broker answers a listing with NOT_COORDINATOR (issue
5040), and with a failed assertion when a client is closed after a request has timed out.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from offset_sync_consumer.progress import Commit

_LOG = logging.getLogger("offset_sync_consumer")
READ = "__offset-sync.read."
"""The read lists. Offset Sync writes them."""
USED = "__offset-sync.used."
"""From which offset on the group uses a list (:class:`~offset_sync_consumer.progress.Progress`)."""
SEEN = "__offset-sync.seen."
"""The marks (:class:`~offset_sync_consumer.marks.Marks`)."""

# Callbacks and plugins are the application's; the rest is of members of a group, which these clients never are.
_NOT_HANDED_ON = frozenset(
    (
        "error_cb", "stats_cb", "throttle_cb", "on_commit", "plugin.library.paths", "statistics.interval.ms",
        "group.instance.id", "group.protocol", "group.remote.assignor",
    )
)  # fmt: skip
REFUSED = (
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
_FIRST_READ_S = 0.25
Place = tuple[str, int]
"""A topic and a partition."""


class OwnCommits(Protocol):
    """The application's consumer, which reads what its group has committed."""

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]: ...


class Answer(NamedTuple):
    """What is committed: the read lists, the group's own offsets, and its uses of lists."""

    lists: Mapping[Place, Commit]
    own: Mapping[Place, int]
    used: Mapping[Place, Commit]


class Written(Protocol):
    """Commits that are under way."""

    def is_done(self) -> bool:
        """True where the outcome is known."""

    def wait(self, timeout: float) -> None:
        """Wait until they are acknowledged; raises KafkaException if one is refused, else TimeoutError."""


class GroupCommits:
    """Opens its clients on demand. They have the consumer's settings; those that failed are closed and replaced.

    Every wait has a limit.
    """

    def __init__(self, group: str, settings: Mapping[str, Any], own: OwnCommits) -> None:
        self.group = group
        self._own = own
        handed_on = {name: value for name, value in settings.items() if name not in _NOT_HANDED_ON}
        self._settings = {
            **handed_on,
            "client.id": f"{settings.get('client.id', 'rdkafka')}-skip-read",
            "enable.auto.commit": False,
            # By default a client that has lost all brokers bootstraps again, and its old threads never end.
            "metadata.recovery.strategy": "none",
        }
        self._clients: dict[str, _Client] = {}

    @property
    def is_open(self) -> bool:
        """True while there are clients."""
        return bool(self._clients)

    def read(self, places: Sequence[Place], cluster: str, wait_ms: int) -> Answer:
        """Read what is committed for *places*; fails if a client reaches another cluster than *cluster*."""
        deadline = time.monotonic() + wait_ms / 1000
        is_answered = False
        try:
            # First, and by the consumer's own connection: it may commit at any time.
            own = {place: found.offset for place, found in _committed(self._own, places, deadline).items()}
            clients = [self._client(READ), self._client(USED)]  # both connect at once
            lists, used = (client.read(places, cluster, deadline) for client in clients)
            is_answered = True
            return Answer(lists, own, used)
        finally:
            if not is_answered:
                self.close(READ, USED)

    def use(self, uses: Mapping[Place, Commit], wait_ms: int) -> None:
        """Commit which lists the group uses, and wait for it."""
        is_written = False
        try:
            self._client(USED).write(uses).wait(wait_ms / 1000)
            is_written = True
        finally:
            if not is_written:
                self.close(READ, USED)

    def mark(self, marks: Mapping[Place, Commit]) -> Written:
        """Start to commit marks."""
        return self._client(SEEN).write(marks)

    def standing(self, places: Sequence[Place], wait_ms: int) -> dict[Place, int]:
        """Return the next offsets of the marks that stand; of none where the text of one cannot be decoded."""
        try:
            found = self._client(SEEN).marks(places, time.monotonic() + wait_ms / 1000)
        except UnicodeDecodeError:  # librdkafka may read beyond the end of a text
            return {}
        return {place: each.offset for place, each in found.items()}

    def close(self, *prefixes: str) -> None:
        """Close the clients of these groups that are open, by default all, without waiting for it."""
        found = [self._clients.pop(prefix, None) for prefix in prefixes or (READ, USED, SEEN)]
        for client in filter(None, found):
            threading.Thread(target=client.close, name="skip-read-close", daemon=True).start()

    def _client(self, prefix: str) -> _Client:
        if prefix not in self._clients:
            self._clients[prefix] = _Client({**self._settings, "group.id": prefix + self.group})
        return self._clients[prefix]


class _Client:
    """A consumer that reads and writes what is committed for one group. One write is under way at a time."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._consumer = Consumer({**settings, "on_commit": self._hear})
        self._write: _Write | None = None

    def read(self, places: Sequence[Place], cluster: str, deadline: float) -> dict[Place, Commit]:
        reached = self._consumer.list_topics(places[0][0], _left(deadline)).cluster_id
        if reached != cluster:
            raise ValueError(
                f"bootstrap.servers leads its other clients to cluster {reached}, "
                f"and the consumer reads from cluster {cluster}"
            )
        found = self._read(places, deadline)
        return {place: Commit(each.offset, each.metadata or "") for place, each in found.items()}

    def marks(self, places: Sequence[Place], deadline: float) -> dict[Place, TopicPartition]:
        return self._read(places, deadline)

    def write(self, commits: Mapping[Place, Commit]) -> _Write:
        rows = [TopicPartition(*place, commit.offset, commit.metadata) for place, commit in commits.items()]
        self._write = _Write(self)
        self._consumer.commit(offsets=rows, asynchronous=True)
        return self._write

    def poll(self, timeout: float) -> None:
        """Serve callbacks; raises KafkaException where the principal lacks a right.

        librdkafka goes on to look for a coordinator that it is not allowed to know, and tells why by a poll only.
        """
        message = self._consumer.poll(timeout)
        error = None if message is None else message.error()
        if error is not None and error.code() in REFUSED:
            raise KafkaException(error)

    def close(self) -> None:
        try:
            self._consumer.close()
        except Exception as failure:
            _LOG.warning("A client for read lists cannot be closed: %r", failure)

    def _read(self, places: Sequence[Place], deadline: float) -> dict[Place, TopicPartition]:
        wait = _FIRST_READ_S
        while True:
            try:
                return _committed(self._consumer, places, min(deadline, time.monotonic() + wait))
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError._TIMED_OUT or time.monotonic() >= deadline:
                    raise
            self.poll(0)
            wait *= 2

    def _hear(self, error: KafkaError | None, rows: list[TopicPartition]) -> None:
        if self._write is not None:
            errors = [error, *(row.error for row in rows)]
            self._write.end(next((each for each in errors if each is not None), None))


class _Write:
    """A :class:`Written` whose outcome *client* hears while it is polled."""

    def __init__(self, client: _Client) -> None:
        self._client = client
        self._error: KafkaError | None = None
        self._has_ended = False

    def end(self, error: KafkaError | None) -> None:
        self._error, self._has_ended = error, True

    def is_done(self) -> bool:
        self._poll(0)
        return self._has_ended

    def wait(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self.is_done():
            if time.monotonic() >= deadline:
                raise TimeoutError("not acknowledged in time")
            self._poll(min(0.01, _left(deadline)))
        if self._error is not None:
            raise KafkaException(self._error)

    def _poll(self, timeout: float) -> None:
        if not self._has_ended:
            try:
                self._client.poll(timeout)
            except KafkaException as refused:
                self.end(refused.args[0])


def _committed(consumer: OwnCommits, places: Sequence[Place], deadline: float) -> dict[Place, TopicPartition]:
    found = consumer.committed([TopicPartition(*place) for place in places], _left(deadline))
    for each in found:
        if each.error is not None:
            raise KafkaException(each.error)
    return {(each.topic, each.partition): each for each in found if each.offset >= 0}


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())
