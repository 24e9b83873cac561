"""Reads stretches of logs whole, as a consumer does: what a micro-batch covers, without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as ClientPartition

from offset_sync.kafka.log_consumer import log_consumer, next_messages
from offset_sync.kafka.record_reader import to_content
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

PATIENCE_S = 30.0
_ENDED_S = 3.0
"""So long more is waited for where every log that is left ends before its range: a new leader may not know yet."""
_POLL_S = 0.5
_MOST_RECORDS = 200
# All that is fetched ahead, of all partitions together. What retention has deleted is read over, as Spark does it. A
# record that a disk has changed is an error, as for a Java client: by default librdkafka would not look.
_WANTED = {"queued.max.messages.kbytes": "16384", "fetch.message.max.bytes": "1048576", "check.crcs": "true"}


_BROKEN = ("_BAD_MSG", "_BAD_COMPRESSION", "_NOT_IMPLEMENTED")
"""Errors of records that the client cannot read, and may go on after."""


class OffsetRange(NamedTuple):
    """Offsets of one log from *start* up to *end*, which is not one of them."""

    start: int
    end: int


Chunk = list[tuple[TopicPartition, RecordContent]]


class _Seen(NamedTuple):
    reason: str
    is_end: bool = False
    is_broken: bool = False


_SILENT = _Seen("no answer")


class UnreadError(ClusterError):
    """Some logs could not be read up to the end of their ranges; *reasons* says of each why."""

    def __init__(self, alias: str, reasons: Mapping[TopicPartition, str]) -> None:
        super().__init__(alias, next(iter(reasons.values())))
        self.reasons = reasons


class RangeReader:
    """Reads from one cluster; *options* are librdkafka's."""

    def __init__(self, alias: str, options: Mapping[str, str], patience: float = PATIENCE_S) -> None:
        self._alias, self._options, self._patience = alias, options, patience

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        """Yield every record of the *ranges* that is still there, each log in its order, at most 200 at a time.

        Raises UnreadError, after all that could be read, where nothing has come for the *patience*, in seconds, or
        where logs end before their ranges do: nothing is taken for read that was not. Each call has a consumer of its
        own: one that goes on with other ranges may still bring what it had fetched for those before, and the last of a
        range would pass for all of it.
        """
        waiting = {place: each for place, each in ranges.items() if each.end > each.start}
        if not waiting:
            return
        with log_consumer(self._alias, self._options, _WANTED) as consumer:
            yield from self._read(consumer, waiting)

    def _read(self, consumer: Consumer, waiting: dict[TopicPartition, OffsetRange]) -> Iterator[Chunk]:
        consumer.assign([ClientPartition(*place, each.start) for place, each in waiting.items()])
        seen = dict.fromkeys(waiting, _SILENT)
        came_at = time.monotonic()
        while waiting:
            chunk: Chunk = []
            for message in next_messages(consumer, _MOST_RECORDS, _POLL_S):
                place = TopicPartition(str(message.topic()), int(message.partition() or 0))
                if place in waiting and self._take(message, waiting, chunk, seen):
                    del waiting[place]
                    consumer.incremental_unassign([ClientPartition(*place)])
            if chunk:
                came_at = time.monotonic()
                yield chunk
            elif waiting and time.monotonic() > came_at + self._patience_for([seen[each] for each in waiting]):
                raise UnreadError(
                    self._alias, {each: _why(each, waiting[each], seen[each]) for each in sorted(waiting)}
                )

    def _patience_for(self, seen: Sequence[_Seen]) -> float:
        return min(_ENDED_S, self._patience) if all(each.is_end for each in seen) else self._patience

    def _take(
        self,
        message: Message,
        waiting: dict[TopicPartition, OffsetRange],
        chunk: Chunk,
        seen: dict[TopicPartition, _Seen],
    ) -> bool:
        """Add a record that is waited for to *chunk*; return whether nothing of its range can come after it.

        Each comes once: what stands before one that cannot be read the client fetches again and again.
        """
        place, offset = TopicPartition(str(message.topic()), int(message.partition() or 0)), int(message.offset() or 0)
        wanted, error = waiting[place], message.error()
        if seen[place].is_broken:
            return False
        if error is not None:
            is_end = error.name() == "_PARTITION_EOF"
            # A broker that leads since a moment may not know yet how far its log is readable: then more will come.
            is_broken = error.name() in _BROKEN
            reason = f"the log ends at offset {offset}" if is_end else str(error.str())
            seen[place] = _Seen(reason, is_end, is_broken)
            return bool(is_end and offset >= wanted.end)
        if wanted.start <= offset < wanted.end:
            chunk.append((place, to_content(message)))
            waiting[place] = wanted._replace(start=offset + 1)
        return offset >= wanted.end - 1


def _why(place: TopicPartition, wanted: OffsetRange, seen: _Seen) -> str:
    return f"{place.topic}-{place.partition} cannot be read up to offset {wanted.end}: {seen.reason}"
