"""Reads some of the newest records of many logs, as far as they arrive in time: samples without a guarantee."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import (
    DEADLINE_S,
    StreamReader,
    is_end_of_log,
    log_consumer,
    offset_of,
    read_logs,
    to_content,
)
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition

_LONGEST = 1024
"""Keys and values above this many bytes are kept as their hash: they are compared, never shown."""
_WANTED = {"queued.max.messages.kbytes": "16384", "queued.min.messages": "100", "fetch.message.max.bytes": "262144"}


class TailRecord(NamedTuple):
    """*is_appended*: its timestamp is LogAppendTime, the broker's, not the producer's."""

    content: RecordContent
    is_appended: bool = False


@dataclass(frozen=True)
class Tails:
    """The records read from each log, in order, and the logs not read to the end in time."""

    records: Mapping[TopicPartition, Sequence[TailRecord]] = field(default_factory=dict)
    unread: frozenset[TopicPartition] = frozenset()


Ends = Mapping[TopicPartition, LogEnds]


class TailReader(StreamReader):
    """Reads the newest records of streams of one cluster."""

    def read(
        self, ranges: Mapping[TopicPartition, OffsetRange], deadline: float = DEADLINE_S, *, is_committed: bool = True
    ) -> Tails:
        """Return the records of the *ranges* that are still there.

        Records not read within *deadline* (seconds) are left out, and their log is *unread*. *is_committed*: without
        records of open or aborted transactions (read_committed). Raises ClusterError where the client refuses its
        options, or where no record came at all.
        """
        ranges = self._door.out(ranges)
        found: dict[TopicPartition, list[TailRecord]] = {place: [] for place in ranges}

        def take(place: TopicPartition, message: Message) -> bool:
            offset, wanted = offset_of(message), ranges[place]
            if message.error() is not None:
                return is_end_of_log(message)
            if wanted.start <= offset < wanted.end:
                found[place].append(_to_tail(message))
            return offset >= wanted.end - 1

        starts = [ClientPartition(*place, each.start) for place, each in ranges.items() if each.end > each.start]
        ends_at, unread = time.monotonic() + deadline, set[TopicPartition]()
        isolation = {"isolation.level": "read_committed" if is_committed else "read_uncommitted"}
        if starts:
            with log_consumer(self._alias, self._options, {**_WANTED, **isolation}) as consumer:
                unread = read_logs(consumer, starts, take, ends_at)
        if unread and len(unread) == len(starts) and not any(found.values()):
            raise ClusterError(self._alias, f"no record could be read within {deadline:g} s")
        return Tails(self._door.into(found), frozenset(self._door.into(dict.fromkeys(unread))))

    def offsets_at(
        self, times: Mapping[TopicPartition, int], deadline: float = DEADLINE_S
    ) -> dict[TopicPartition, int]:
        """Return the offset of the first record in each log that is not older than the given time (ms).

        Logs without such a record, or without an answer, are left out.
        """
        with log_consumer(self._alias, self._options, _WANTED) as consumer:
            wanted = [ClientPartition(*place, at_ms) for place, at_ms in self._door.out(times).items()]
            answers = consumer.offsets_for_times(wanted, timeout=deadline) if wanted else []
        found = [each for each in answers if each.error is None and each.offset >= 0]
        return self._door.into({TopicPartition(each.topic, each.partition): each.offset for each in found})


@dataclass(frozen=True)
class SeenLogs:
    """Streams at a cluster: how many partitions each has, and the newest records of some of these.

    *admin* and *reader* serve further requests. *error*: nothing could be read.
    """

    admin: ClusterAdmin
    reader: TailReader
    partitions: Mapping[str, int] = field(default_factory=dict)
    ends: Ends = field(default_factory=dict)
    records: Mapping[TopicPartition, Sequence[TailRecord]] = field(default_factory=dict)
    error: str = ""


def _to_tail(message: Message) -> TailRecord:
    content = to_content(message)
    short = replace(content, key=_short(content.key), value=_short(content.value))
    return TailRecord(short, message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME)


def _short(octets: bytes | None) -> bytes | None:
    if octets is None or len(octets) <= _LONGEST:
        return octets
    return b"%d bytes " % len(octets) + hashlib.blake2b(octets).digest()
