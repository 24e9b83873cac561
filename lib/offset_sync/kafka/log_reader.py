"""Reads logs with a consumer with assigned partitions: it joins no group and commits nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.clients import open_client
from offset_sync.kafka.librdkafka import cluster_id_of, refuse_other
from offset_sync.kafka.requests import Door
from offset_sync.model.errors import ClusterError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import CLUSTER_ID, OffsetRange, RecordContent, Stop, TopicPartition

DEADLINE_S = 10.0
PATIENCE_S = 30.0
_ENDED_S = 3.0
"""How long to wait where all remaining logs end before their range: a new leader may not know its high watermark."""
_POLL_S = 0.2
_MOST_MESSAGES = 200
# Consumer requires a group id. The end of a log is reported, so that it is not waited for.
_OPTIONS = {
    "group.id": "offset-sync-reader",
    "enable.auto.commit": "false",
    "isolation.level": "read_committed",
    "enable.partition.eof": "true",
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": "50",
    # How long the client pauses fetching while its queue is full; by default a second.
    "fetch.queue.backoff.ms": "10",
}
# A single record of each partition is wanted, so nothing is prefetched. If retention has deleted the record at the
# offset, the first one left is wanted; beyond the end there is none.
_ONE_RECORD = {"queued.min.messages": "1", "fetch.message.max.bytes": "65536"}
# The prefetch limits are for all partitions together. Ranges deleted by retention are skipped, as Spark does. A
# corrupted record is an error, as for a Java client: by default librdkafka does not check CRCs.
_WHOLE_RANGES = {"queued.max.messages.kbytes": "16384", "fetch.message.max.bytes": "1048576", "check.crcs": "true"}
_BROKEN = ("_BAD_MSG", "_BAD_COMPRESSION", "_NOT_IMPLEMENTED")
"""Errors of records that the client cannot read, and may skip."""

UNREADABLE_HEADERS: tuple[tuple[str, bytes | None], ...] = (("", None),)
"""In the place of headers that the client cannot decode."""


Chunk = list[tuple[TopicPartition, RecordContent]]


class UnreadError(ClusterError):
    """Some logs could not be read up to the end of their ranges; *stops* has the place of each, and why.

    *is_silent*: nothing came of any log.
    """

    def __init__(self, alias: str, stops: Mapping[TopicPartition, Stop], is_silent: bool = False) -> None:
        super().__init__(alias, next(stop.at(f"{log.topic}-{log.partition}") for log, stop in stops.items()))
        self.stops, self.is_silent = stops, is_silent


@contextmanager
def log_consumer(alias: str, options: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[Consumer]:
    """Yield a consumer of the cluster *alias*; *options* are the cluster's, *wanted* those of the caller, which win.

    Raises ClusterError where the client rejects its options, or fails inside; and at the end where it has read from
    another cluster than the one of *options*: nothing that was read counts before the end.
    """
    consumer = open_client(Consumer, alias, {**_OPTIONS, **options, **wanted})
    try:
        yield consumer
        refuse_other(alias, options.get(CLUSTER_ID, ""), cluster_id_of(consumer))
    except KafkaException as error:
        raise ClusterError(alias, str(error.args[0])) from error
    finally:
        # Some never close: librdkafka 2.16 waits for the thread of a broker that is still referenced, seen where a
        # batch is corrupt. The micro-batch would hang, and with it the index of its cluster.
        closing = threading.Thread(target=consumer.close, daemon=True)
        closing.start()
        closing.join(DEADLINE_S)


def polls(
    consumer: Consumer, starts: Sequence[ClientPartition], take: Callable[[TopicPartition, Message], bool]
) -> Iterator[set[TopicPartition]]:
    """Pass every message from *starts* on to *take*, until it returns True for each log; yield those not done.

    Yields after each poll of at most 200 messages, including errors, after which the client retries by itself, and
    ends of logs; at the latest after 0.2 s.
    """
    waiting = {TopicPartition(each.topic, each.partition) for each in starts}
    consumer.assign([*starts])
    while waiting:
        first = consumer.poll(_POLL_S)  # alone, consume would wait for so many messages, or all of that time
        for message in [first, *consumer.consume(_MOST_MESSAGES - 1, 0)] if first is not None else ():
            place = place_of(message)
            if place in waiting and take(place, message):
                waiting.remove(place)
                consumer.incremental_unassign([ClientPartition(*place)])
        yield waiting


def read_logs(
    consumer: Consumer,
    starts: Sequence[ClientPartition],
    take: Callable[[TopicPartition, Message], bool],
    ends_at: float,
) -> set[TopicPartition]:
    """Do the same until *ends_at* on ``time.monotonic``'s clock; return the logs that are not done."""
    looks = polls(consumer, starts, take)
    return next((waiting for waiting in looks if not waiting or time.monotonic() >= ends_at), set())


def place_of(message: Message) -> TopicPartition:
    """Return the partition of a message."""
    return TopicPartition(str(message.topic()), int(message.partition() or 0))


def offset_of(message: Message) -> int:
    """Return the offset of a record, or of the end of a log."""
    return int(message.offset() or 0)


def is_end_of_log(message: Message) -> bool:
    """Return whether a message reports the end of the log."""
    error = message.error()
    return error is not None and error.name() == "_PARTITION_EOF"


def to_content(message: Message) -> RecordContent:
    """Return the content of a consumed message; UNREADABLE_HEADERS if names of headers are not text."""
    try:
        headers: Any = message.headers() or []
    except UnicodeDecodeError:
        headers = UNREADABLE_HEADERS
    return RecordContent(
        offset=offset_of(message),
        timestamp_ms=int(message.timestamp()[1]),
        key=_to_bytes(message.key()),
        value=_to_bytes(message.value()),
        headers=tuple((str(name), _to_bytes(value)) for name, value in headers),
    )


def _to_bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


class StreamReader:
    """Reads logs of the cluster *alias* by streams; *options* are librdkafka's, *names* those of its topics."""

    def __init__(self, alias: str, options: Mapping[str, str], names: Names = SAME_NAMES) -> None:
        self._alias, self._options, self._door = alias, options, Door(alias, names)


class RecordReader(StreamReader):
    """Reads the single records that a group would read next."""

    def first_at(
        self, offsets: Mapping[TopicPartition, int], deadline: float = DEADLINE_S
    ) -> dict[TopicPartition, RecordContent] | ClusterError:
        """Return the first record at or above each offset; partitions without one in time are left out.

        The end of a log is reported at once. For a topic or partition that does not exist the whole *deadline* (in
        seconds) passes, as the client gets no error.
        """
        wanted, ends_at = self._door.out(offsets), time.monotonic() + deadline
        starts = [ClientPartition(*place, start) for place, start in wanted.items()]
        found: dict[TopicPartition, RecordContent] = {}

        def take(place: TopicPartition, message: Message) -> bool:
            if message.error() is None and offset_of(message) >= wanted[place]:
                found[place] = to_content(message)
            return message.error() is None or is_end_of_log(message)

        try:
            with log_consumer(self._alias, self._options, _ONE_RECORD) as consumer:
                read_logs(consumer, starts, take, ends_at)
        except ClusterError as error:
            return error
        return self._door.into(found)


class _Seen(NamedTuple):
    reason: str
    is_end: bool = False
    is_broken: bool = False


_SILENT = _Seen("no answer")


class RangeReader(StreamReader):
    """Reads whole ranges of logs, as a consumer does: those of a micro-batch, without Spark.

    Ranges are of streams; records have the cluster's own names, as from Spark.
    """

    def __init__(
        self,
        alias: str,
        options: Mapping[str, str],
        patience: float = PATIENCE_S,
        names: Names = SAME_NAMES,
    ) -> None:
        super().__init__(alias, options, names)
        self._patience = patience

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        """Yield every record of the *ranges* that is still there, each log in order, at most 200 at a time.

        Raises UnreadError, after all records that could be read, if none came for *patience* seconds, or if logs end
        before their ranges: no range counts as read that was not. Each call has a consumer of its own: one reused for
        other ranges may still return records prefetched before, and the last of a range would be taken for all of it.
        """
        waiting = {place: each for place, each in self._door.out(ranges).items() if each.end > each.start}
        if not waiting:
            return
        with log_consumer(self._alias, self._options, _WHOLE_RANGES) as consumer:
            yield from self._read(consumer, waiting)

    def _read(self, consumer: Consumer, waiting: dict[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        seen, chunk, came_at = dict[TopicPartition, _Seen](), Chunk(), time.monotonic()

        def take(place: TopicPartition, message: Message) -> bool:
            wanted, offset, error = waiting[place], offset_of(message), message.error()
            if seen.setdefault(place, _SILENT).is_broken:
                return False  # the client fetches the records before an unreadable one again and again
            if error is not None:
                # A new leader may not know its high watermark yet: then more will come.
                is_end = is_end_of_log(message)
                reason = f"the log ends at offset {offset}" if is_end else str(error.str())
                seen[place] = _Seen(reason, is_end, error.name() in _BROKEN)
                return is_end and offset >= wanted.end
            if wanted.start <= offset < wanted.end:
                chunk.append((place, to_content(message)))
                waiting[place] = OffsetRange(offset + 1, wanted.end)
            return offset >= wanted.end - 1

        starts = [ClientPartition(*place, each.start) for place, each in waiting.items()]
        for left in polls(consumer, starts, take):
            if chunk:
                came_at = time.monotonic()
                yield [*chunk]
                chunk.clear()
            elif left and time.monotonic() > came_at + self._patience_for([seen.get(each, _SILENT) for each in left]):
                stops = {each: Stop(waiting[each].start, seen.get(each, _SILENT).reason) for each in sorted(left)}
                raise UnreadError(self._alias, self._door.into(stops), is_silent=not seen)

    def _patience_for(self, seen: Sequence[_Seen]) -> float:
        if all(each.is_broken for each in seen):
            return 0.0
        return min(_ENDED_S, self._patience) if all(each.is_end for each in seen) else self._patience
