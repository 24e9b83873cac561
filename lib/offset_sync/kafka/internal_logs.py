"""Internal logs that are read without Spark: commits of groups, open transactions, MirrorMaker's checkpoints.

Readers of committed records get no further in ``__consumer_offsets`` than the last stable offset of a partition, where
the oldest open transaction begins; what others have committed behind it is decided and held back all the same.
Uncommitted reading tells whose offsets these are. It does not tell which producer they are of (librdkafka hides the
batches' headers), so the log of the coordinators of transactions is read from shortly before on.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Message

from offset_sync.decode.cursor import DecodeError, TransactionState, decode_transaction, decode_transactional_id
from offset_sync.decode.offset_records import decode_commit_key
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import (
    RangeReader,
    is_end_of_log,
    log_consumer,
    offset_of,
    read_logs,
    to_content,
)
from offset_sync.kafka.requests import NOT_AUTHORIZED, NotAuthorizedError, Reach, TransientError
from offset_sync.kafka.tail_reader import TailReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.held_commits import HeldCommits, OpenTransaction
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition, OffsetRange, RecordContent, TopicPartition

TRANSACTIONS = "__transaction_state"
DEADLINE_S = 6.0
_ENDS_S = 5.0
_SILENCE_S = 2.0
_MARGIN_MS = 60_000
"""A transaction is written down by its coordinator before its first record is; clocks of brokers differ."""
_MOST_COMMITS, _MOST_CHECKPOINTS = 5_000, 500
_MOST_AT_ONCE = 100_000
"""So many checkpoints are held at once: a log may have many millions before it is compacted for the first time."""
# Past an offset that a transaction has not committed yet too: what is said of groups and members is in none. What an
# open or an aborted transaction of MirrorMaker's holds, it has worked out, and may have written to groups.
_UNCOMMITTED = {"isolation.level": "read_uncommitted"}


def commit_log_ends(admin: ClusterAdmin) -> list[int | None]:
    """Return the log end of each partition of ``__consumer_offsets``, None of one without a leader.

    Empty where the topic does not exist. Raises ClusterError where the cluster does not answer.
    """
    count = admin.partition_count(CONSUMER_OFFSETS, _ENDS_S) or 0
    partitions = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
    ends = admin.ends(partitions, _ENDS_S)
    return [ends[each].log_end if each in ends else None for each in partitions]


class LogRecords(NamedTuple):
    """Records by partition, each in its order, and the partitions that were not read to the end in time."""

    records: Mapping[int, Sequence[RecordContent]]
    unread: frozenset[int] = frozenset()


class CommitLogReader:
    """The log of commits of the cluster that *admin* asks; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin, self._options = admin, options

    def ends(self) -> Sequence[int | None]:
        """Return the log end of each partition; see :func:`commit_log_ends`."""
        return commit_log_ends(self._admin)

    def read(self, ranges: Mapping[int, OffsetRange], types: frozenset[bytes], deadline: float) -> LogRecords:
        """Return the records of *ranges* whose keys begin with one of *types*, each the two bytes of a record type.

        As far as they come within *deadline*, in seconds. Raises ClusterError where the client refuses its options.
        """
        found: dict[int, list[RecordContent]] = {partition: [] for partition in ranges}

        def take(place: TopicPartition, message: Message) -> bool:
            end, offset, is_record = ranges[place.partition].end, offset_of(message), message.error() is None
            if is_record and offset < end and (message.key() or b"")[:2] in types:
                found[place.partition].append(to_content(message))
            # Of an end that is below it more may come: a new leader does not know yet how far it may be read.
            return offset >= end - 1 if is_record else is_end_of_log(message) and offset >= end

        starts = {TopicPartition(CONSUMER_OFFSETS, number): each.start for number, each in ranges.items()}
        ends_at = time.monotonic() + deadline
        wanted = {**_UNCOMMITTED, "queued.max.messages.kbytes": "65536"}
        with log_consumer(self._admin.alias, self._options, wanted) as consumer:
            unread = read_logs(consumer, starts, take, ends_at, _MOST_COMMITS)
        return LogRecords(found, frozenset(place.partition for place in unread))


class HeldCommitsReader:
    """Reads what open transactions hold back, and whose they are; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin, self._times = admin, TailReader(admin.alias, options)
        self._committed = RangeReader(admin.alias, options, _SILENCE_S)
        self._uncommitted = RangeReader(admin.alias, {**options, **_UNCOMMITTED}, _SILENCE_S)

    def read(self, partitions: Collection[int], deadline: float = DEADLINE_S) -> dict[int, HeldCommits]:
        """Return what is held back in those of *partitions* where a transaction is open.

        Raises ClusterError where the cluster does not answer. Errs to keys that are not known and producers that are
        not named, within *deadline* (seconds).
        """
        ends_at = time.monotonic() + deadline
        reaches = self._admin.reaches(lambda name: name == CONSUMER_OFFSETS, deadline)
        found: dict[int, HeldCommits] = {}
        for place, reach in reaches.items():
            if place.partition in partitions and reach.stable < reach.high:
                keys, since_ms = self._keys(place, reach, ends_at)
                open_ones = self._open_in(place, since_ms, ends_at) if since_ms is not None else ()
                found[place.partition] = HeldCommits(place.partition, reach.stable, reach.high, keys, open_ones)
        return found

    def _keys(
        self, place: TopicPartition, reach: Reach, ends_at: float
    ) -> tuple[frozenset[GroupPartition] | None, int | None]:
        """Return the keys of all commits that are held back, None if not all can be read, and the time of the first."""
        keys: set[GroupPartition] = set()
        since_ms: int | None = None
        try:
            for record in self._records(self._uncommitted, {place: OffsetRange(reach.stable, reach.high)}, ends_at):
                since_ms = record.timestamp_ms if since_ms is None else since_ms
                with suppress(DecodeError):  # which sync_offsets puts into quarantine
                    if record.key is not None and (key := decode_commit_key(record.key)) is not None:
                        keys.add(GroupPartition(*key))
        except ClusterError:  # as where we may not read it
            return None, since_ms
        return frozenset(keys), since_ms

    def _open_in(self, place: TopicPartition, since_ms: int, ends_at: float) -> tuple[OpenTransaction, ...]:
        """Return the transactions that are open in *place*, the oldest first; none where that cannot be told."""
        states: dict[str, TransactionState | None] = {}
        try:
            for record in self._records(self._committed, self._log_since(since_ms - _MARGIN_MS), ends_at):
                if record.key is not None:
                    state = decode_transaction(record.key, record.value) if record.value is not None else None
                    states[decode_transactional_id(record.key)] = state
        except (ClusterError, DecodeError):
            return ()
        found = [each for each in states.values() if each is not None and tuple(place) in each.partitions]
        transactions = [OpenTransaction(each.transactional_id, each.producer_id, each.started_at_ms) for each in found]
        return tuple(sorted(transactions, key=lambda each: each.started_at_ms))

    def _records(
        self, reader: RangeReader, ranges: Mapping[TopicPartition, OffsetRange], ends_at: float
    ) -> Iterator[RecordContent]:
        """Yield the records of *ranges*; raises ClusterError where not all of them come by *ends_at*."""
        for chunk in reader.read(ranges):
            yield from (record for _, record in chunk)
            if time.monotonic() > ends_at:
                raise ClusterError(self._admin.alias, "not read in time")

    def _log_since(self, at_ms: int) -> dict[TopicPartition, OffsetRange]:
        """Return what the coordinators of transactions have written since; raises ClusterError."""
        count = self._admin.partition_count(TRANSACTIONS, _SILENCE_S) or 0
        first = self._times.offsets_at({TopicPartition(TRANSACTIONS, each): at_ms for each in range(count)}, _SILENCE_S)
        ends = self._admin.ends(first, _SILENCE_S)
        return {place: OffsetRange(first[place], end.log_end) for place, end in ends.items()}


class CheckpointLog:
    """MirrorMaker's log *topic* of one partition, at the cluster that *admin* asks; each record is read once.

    *options* are librdkafka's. Not for several threads at once.
    """

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str], topic: str) -> None:
        self.topic = topic
        self._admin, self._options = admin, options
        self._next = int(OFFSET_BEGINNING)
        self.is_at_end = True
        """Whether the end was reached by the last call that returned records, or found no topic."""

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return what has come since the last call; None where there is no such topic.

        Up to the end, see :attr:`is_at_end`, but at most 100,000 records and what comes within *deadline*, in seconds.
        One that was made anew is read from its beginning, as far as that shows. Raises NotAuthorizedError where we may
        not describe or read it, and TransientError where nothing comes at all.
        """
        ends_at = time.monotonic() + deadline
        if self._admin.partition_count(self.topic, deadline) is None:
            self._next, self.is_at_end = int(OFFSET_BEGINNING), True
            return None
        self.is_at_end = False
        found: list[RecordContent] = []

        def take(_: TopicPartition, message: Message) -> bool:
            error = message.error()
            if error is None:
                found.append(to_content(message))
            elif is_end_of_log(message):
                self._next, self.is_at_end = max(offset_of(message), 0), True
            elif error.name() in NOT_AUTHORIZED:
                raise NotAuthorizedError(self._admin.alias, self.topic, "Read")
            return self.is_at_end or len(found) >= _MOST_AT_ONCE

        wanted = {**_UNCOMMITTED, "queued.max.messages.kbytes": "16384"}
        with log_consumer(self._admin.alias, self._options, wanted) as consumer:
            read_logs(consumer, {TopicPartition(self.topic, 0): self._next}, take, ends_at, _MOST_CHECKPOINTS)
        if self.is_at_end:
            return found
        if not found:
            raise TransientError(self._admin.alias, f"topic {self.topic}: nothing is read within {deadline:g} s")
        self._next = found[-1].offset + 1
        return found
