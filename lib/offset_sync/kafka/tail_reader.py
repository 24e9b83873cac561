"""Reads some of the newest records of many logs, as far as they come in time: to look at, not to count on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.record_reader import to_content
from offset_sync.kafka.topic_metadata import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

DEADLINE_S = 10.0
_POLL_S = 0.2
_LOGS_AT_ONCE = 200
_MOST_RECORDS = 500
_LONGEST = 1024
"""Keys and values above so many bytes are kept as their hash: they are compared, never shown."""
_WANTED = {"queued.max.messages.kbytes": "16384", "queued.min.messages": "100", "fetch.message.max.bytes": "262144"}


class TailRecord(NamedTuple):
    """*is_appended*: its time is that of the broker that appended it (LogAppendTime), not of who produced it."""

    content: RecordContent
    is_appended: bool = False


class Pair(NamedTuple):
    """A copy and the record that it is a copy of, or should be."""

    copy: TailRecord
    original: TailRecord

    @property
    def is_same(self) -> bool:
        """Whether key and value are the same."""
        copy, original = self.copy.content, self.original.content
        return (copy.key, copy.value) == (original.key, original.value)

    @property
    def keeps_time(self) -> bool:
        """Whether the copy has the time of its original."""
        return self.copy.content.timestamp_ms == self.original.content.timestamp_ms

    @property
    def keeps_headers(self) -> bool:
        """Whether the copy has the headers of its original, and no others."""
        return self.copy.content.headers == self.original.content.headers


@dataclass(frozen=True)
class Tails:
    """What was read of each log, in its order, and the logs that were not read to the end in time."""

    records: Mapping[TopicPartition, Sequence[TailRecord]] = field(default_factory=dict)
    unread: frozenset[TopicPartition] = frozenset()


Ends = Mapping[TopicPartition, LogEnds]


class TailReader:
    """Reads from one cluster; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias, self._options = alias, options

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], deadline: float = DEADLINE_S, *, is_committed: bool = True
    ) -> Tails:
        """Return the records of the *ranges* that are still there, those of the first ones first.

        What has not come within *deadline* (seconds) is left out, and the log named. *is_committed*: as consumers read,
        without records of transactions that are open or came to nothing. Raises ClusterError where the client refuses
        its options, or where nothing came at all.
        """
        found: dict[TopicPartition, list[TailRecord]] = {place: [] for place in ranges}
        waiting = {place: each for place, each in ranges.items() if each.end > each.start}
        ends_at, asked = time.monotonic() + deadline, len(waiting)
        untried = asked
        isolation = {"isolation.level": "read_committed" if is_committed else "read_uncommitted"}
        while waiting and time.monotonic() < ends_at:
            some = dict(islice(waiting.items(), _LOGS_AT_ONCE))
            # A silent log keeps those behind it waiting for its share of the time, and comes last then.
            until = time.monotonic() + (ends_at - time.monotonic()) / max(1, -(-untried // _LOGS_AT_ONCE))
            untried -= len(some)
            with log_consumer(self._alias, self._options, {**_WANTED, **isolation}) as consumer:
                left = _read(consumer, dict(some), found, until)
            waiting = {place: each for place, each in waiting.items() if place not in some}
            waiting |= {place: each for place, each in some.items() if place in left}
        if asked and len(waiting) == asked and not any(found.values()):
            raise ClusterError(self._alias, f"no record could be read within {deadline:g} s")
        return Tails(found, frozenset(waiting))

    def offsets_at(
        self, times: Mapping[TopicPartition, int], deadline: float = DEADLINE_S
    ) -> dict[TopicPartition, int]:
        """Return where the first record stands that is not older than the time (ms) given for its log.

        Logs of which nobody says it, or that have none, are left out.
        """
        with log_consumer(self._alias, self._options, _WANTED) as consumer:
            wanted = [ClientPartition(*place, at_ms) for place, at_ms in times.items()]
            try:
                answers = consumer.offsets_for_times(wanted, timeout=deadline) if wanted else []
            except KafkaException as error:
                raise ClusterError(self._alias, str(error.args[0])) from error
        return {
            TopicPartition(each.topic, each.partition): each.offset
            for each in answers
            if each.error is None and each.offset >= 0
        }


@dataclass(frozen=True)
class SeenLogs:
    """What a cluster has of streams: how many partitions each has, and the newest records of some of these.

    *admin* and *reader* are whom to ask for more. *unread* are the streams of which not all that was wanted could be
    read in time. *error*: nothing could be.
    """

    admin: ClusterAdmin
    reader: TailReader
    partitions: Mapping[str, int] = field(default_factory=dict)
    ends: Ends = field(default_factory=dict)
    records: Mapping[TopicPartition, Sequence[TailRecord]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    error: str = ""

    def logs_of(self, stream: str) -> dict[TopicPartition, Sequence[TailRecord]]:
        """Return what was read of a stream, log by log."""
        return {place: each for place, each in self.records.items() if place.topic == stream and each}


def _read(
    consumer: Consumer,
    waiting: dict[TopicPartition, OffsetRange],
    found: Mapping[TopicPartition, list[TailRecord]],
    ends_at: float,
) -> set[TopicPartition]:
    """Add what comes until *ends_at* to *found*; return the logs that were not read to the end."""
    begins = {
        place: found[place][-1].content.offset + 1 if found[place] else each.start for place, each in waiting.items()
    }
    consumer.assign([ClientPartition(*place, begin) for place, begin in begins.items()])
    while waiting and time.monotonic() < ends_at:
        for place, message in _placed(next_messages(consumer, _MOST_RECORDS, _POLL_S)):
            if place in waiting and _is_last(message, waiting[place], found[place]):
                del waiting[place]
                consumer.incremental_unassign([ClientPartition(*place)])
    return set(waiting)


def _placed(messages: Sequence[Message]) -> Iterator[tuple[TopicPartition, Message]]:
    for each in messages:
        yield TopicPartition(str(each.topic()), int(each.partition() or 0)), each


def _is_last(message: Message, wanted: OffsetRange, found: list[TailRecord]) -> bool:
    """Add a record that is *wanted*; return whether none of its range can come after it."""
    error, offset = message.error(), int(message.offset() or 0)
    if error is not None:
        return bool(error.name() == "_PARTITION_EOF")  # after any other the client tries again by itself
    if wanted.start <= offset < wanted.end:
        found.append(_to_tail(message))
    return offset >= wanted.end - 1


def _to_tail(message: Message) -> TailRecord:
    content = to_content(message)
    short = replace(content, key=_short(content.key), value=_short(content.value))
    return TailRecord(short, message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME)


def _short(octets: bytes | None) -> bytes | None:
    if octets is None or len(octets) <= _LONGEST:
        return octets
    return b"%d bytes " % len(octets) + hashlib.blake2b(octets).digest()
