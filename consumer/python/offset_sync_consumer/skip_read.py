"""Takes out of what a consumer gets what its group has already read at another cluster.

The lists that say so are commits of Offset Sync, made when it moves the group. Asked for are the commits of the group,
of its lists and of its uses of lists, if there are records of a partition that is not known, that starts at or below
its last offset, or that was without records for 60 s. A list in use is asked for every 10 s. A record is taken out if
its offset is listed and its leader epoch is not above the list's. After the last range the list is dropped, with one
line of log. A decision depends on offset, epoch and list alone, so an application that seeks back to retry gets the
same records again.

Errs to delivering. A record delivered twice is a nuisance, one never delivered a loss:

- librdkafka has moved position and stored offset past every message that it has handed out. So no exception may leave
  a poll that has a message: on any failure the messages are returned as given. An exception that is not a failure, such
  as KeyboardInterrupt, is raised by the next poll.
- Waiting is bounded. What cannot be asked in time, or may not be asked, is delivered, and a later poll asks again.
- A consumer that reads from two clusters in its life, or from one without an id, gets no lists any more.
- Positions are the consumer's. Nothing here seeks, stores or commits for the group.
- No message's key, value or headers are read or logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from confluent_kafka import OFFSET_INVALID, OFFSET_STORED, KafkaException, Message, TopicPartition

from offset_sync_consumer.group_commits import GroupCommits, OwnCommits, Place
from offset_sync_consumer.marks import Marks
from offset_sync_consumer.read_lists import Counters, ReadLists

_LOG = logging.getLogger("offset_sync_consumer")
_PREFIX = "offset.sync."
_CLOSE_MS = 2_000
_LONGEST_CLIENT_ID = 200
_UNKNOWN = ""
"""In place of a cluster's id: there is none, or there were two."""
_SKIPPING_S = 0.1
"""How long a poll goes through buffered messages that it skips, also where its timeout is shorter."""


class Source(OwnCommits, Protocol):
    """The consumer without skipping."""

    def poll(self, timeout: float = -1) -> Message | None: ...
    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]: ...
    def cluster_id(self, timeout: float = -1) -> str: ...
    def assignment(self) -> list[TopicPartition]: ...
    def pause(self, partitions: list[TopicPartition]) -> None: ...


class SkipRead:
    """Polls *source* until there is something that the group has not read."""

    def __init__(
        self, source: Source, settings: Mapping[str, Any], commits: GroupCommits, now: Callable[[], float]
    ) -> None:
        self._source, self._commits, self._now = source, commits, now
        client_id = str(settings.get("client.id", "rdkafka"))[:_LONGEST_CLIENT_ID]
        longest_poll_ms = _number(settings, "max.poll.interval.ms", 300_000)
        self._wait_ms = min(_number(settings, f"{_PREFIX}wait.ms", 10_000), longest_poll_ms // 2)
        self._counters = Counters()
        self._lists = ReadLists(commits, self._counters, client_id, self._wait_ms)
        self._marks = Marks(commits, str(settings.get(f"{_PREFIX}marks", True)).lower() != "false", client_id)
        self._cluster: str | None = None
        self._has_failed = False
        self._interrupt: BaseException | None = None
        self._lock = threading.Lock()

    def poll(self, timeout: float) -> Message | None:
        """Return the next unread message; None where none comes in time."""

        def fetch(wait: float) -> list[Message]:
            message = self._source.poll(wait)
            return [] if message is None else [message]

        unread = self._poll(fetch, timeout)
        return unread[0] if unread else None

    def consume(self, num_messages: int, timeout: float) -> list[Message]:
        """Return the next unread messages, as soon as there are any."""
        return self._poll(lambda wait: self._source.consume(num_messages, wait), timeout)

    def _poll(self, fetch: Callable[[float], list[Message]], timeout: float) -> list[Message]:
        wait, begun = timeout, time.monotonic()
        while True:
            self.raise_interrupt()
            messages: list[Message] = []
            try:
                messages = fetch(wait)
                unread = self.unread(messages)
            except BaseException as interrupt:
                if not messages:
                    raise
                unread, self._interrupt = messages, interrupt
            if unread or not messages:
                return unread
            if timeout >= 0:
                now = time.monotonic()
                if now >= begun + max(timeout, _SKIPPING_S):
                    return []
                wait = max(0.0, begun + timeout - now)

    def unread(self, messages: list[Message]) -> list[Message]:
        """Return *messages* without those that the group has read at another cluster; on any failure as given."""
        if not messages or not self._commits.group:
            return messages
        try:
            with self._lock:
                return self._unread(messages)
        except BaseException as failure:
            self._fail("failed, so all records of this poll are delivered", failure)
            return messages

    def observe(self, cluster: str | None) -> None:
        """Take the id of the cluster that the consumer reads from."""
        told = cluster or _UNKNOWN
        self._cluster = told if self._cluster in (None, told) else _UNKNOWN

    def note_sought(self, partitions: Iterable[TopicPartition]) -> None:
        """Note which of these partitions the application sets to a position of its own."""
        moved = [each for each in partitions if each.offset not in (OFFSET_INVALID, OFFSET_STORED)]
        self._lists.note_sought([(each.topic, each.partition) for each in moved])

    def counters(self) -> dict[str, int]:
        """Return records taken out, partitions with a list in use, times that it asked, times that something failed."""
        found = self._counters
        return {
            "skipped-total": found.skipped,
            "lists": self._lists.in_use(self._now()),
            "asked-total": found.asked,
            "failed-total": found.failed,
        }

    def close(self) -> None:
        """Write the last marks, which it waits for 2 s at most, and close its clients; *source* is closed after it.

        librdkafka (2.16) goes through buffered messages while it closes, and where it stores offsets by itself it
        stores that of each marker of a transaction: what is buffered before a marker would be committed unread. Paused
        partitions have nothing buffered.
        """
        with self._lock:
            try:
                self._source.pause(self._source.assignment())
            except (RuntimeError, KafkaException) as failure:
                _LOG.debug("Buffered messages of group %s cannot be dropped: %r", self._commits.group, failure)
            if self._cluster:
                self._marks.write_last(self._lists, min(self._wait_ms, _CLOSE_MS))
            self._commits.close()

    def raise_interrupt(self) -> None:
        """Raise what interrupted a poll that had to deliver."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def _unread(self, messages: list[Message]) -> list[Message]:
        now = self._now()
        self.observe(_cluster_id(self._source))
        if not self._cluster:
            self._lists.clear()
            self._fail("delivers everything: its consumer's cluster has no id, or has become another one", None)
            return messages
        firsts: dict[Place, int] = {}
        for message in messages:
            if message.error() is None:
                firsts.setdefault(_place(message), _offset(message))
        self._lists.ask(firsts, self._cluster, now)
        if self._lists.interrupt is not None:
            self._interrupt, self._lists.interrupt = self._lists.interrupt, None
        unread = [message for message in messages if message.error() is not None or not self._is_read(message)]
        self._count(messages, unread, now)
        self._has_failed = False
        return messages if len(unread) == len(messages) else unread

    def _is_read(self, message: Message) -> bool:
        return self._lists.of(_place(message)).is_read(_offset(message), message.leader_epoch())

    def _count(self, messages: list[Message], unread: list[Message], now: float) -> None:
        taken: dict[Place, int] = {}
        lasts: dict[Place, int] = {}
        for sign, counted in ((1, messages), (-1, unread)):
            for message in counted:
                if message.error() is None:
                    place = _place(message)
                    taken[place] = taken.get(place, 0) + sign
                    lasts[place] = max(lasts.get(place, 0), _offset(message))
        for place, last in lasts.items():
            progress = self._lists.of(place)
            self._counters.skipped += taken[place]
            if progress.has_passed(last, taken[place], now):
                _LOG.info(
                    "%s-%d of group %s has passed its read list from %s: %d records skipped",
                    *place,
                    self._commits.group,
                    progress.list_start,
                    progress.skipped,
                )
            self._marks.touch(place, last + 1, now)
        self._marks.write(self._lists, now)
        if not self._marks.are_wanted and self._commits.is_open and not self._lists.in_use(now):
            self._commits.close()

    def _fail(self, what: str, failure: BaseException | None) -> None:
        """Count a failure and log the first of a series; never raises, whatever failed."""
        try:
            if failure is not None and not isinstance(failure, Exception):
                self._interrupt = failure
            self._counters.failed += 1
            if not self._has_failed:
                self._has_failed = True
                _LOG.warning("SkipRead of group %s %s", self._commits.group, what, exc_info=failure)
        except BaseException as another:
            self._interrupt = another


def skip_read(source: Source, settings: Mapping[str, Any]) -> SkipRead:
    """Return what skips for a consumer with these settings."""
    commits = GroupCommits(str(settings.get("group.id", "")), without_options(settings), source)
    return SkipRead(source, settings, commits, lambda: time.monotonic() * 1000)


def without_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that librdkafka knows."""
    return {name: value for name, value in settings.items() if not name.startswith(_PREFIX)}


def _cluster_id(source: Source) -> str | None:
    """Return the id of the cluster whose metadata came last; None where brokers tell none."""
    try:
        return source.cluster_id(0)
    except KafkaException:
        return None


def _place(message: Message) -> Place:
    topic, partition = message.topic(), message.partition()
    assert topic is not None
    assert partition is not None
    return topic, partition


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _number(settings: Mapping[str, Any], name: str, otherwise: int) -> int:
    try:
        given = int(settings.get(name, otherwise))
    except (TypeError, ValueError):
        _LOG.warning("%s=%r is not a number; %d is used", name, settings[name], otherwise)
        return otherwise
    return given if given > 0 else otherwise
