"""The commit log read without Spark.

With read_committed, ``__consumer_offsets`` is readable up to a partition's last stable offset, where the oldest open
transaction begins; later commits of other groups are held back too. With read_uncommitted we get the keys of these
commits.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.offset_records import decode_commit_key
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.held_commits import HeldCommits
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition, OffsetRange, RecordContent, TopicPartition

DEADLINE_S = 6.0
_ENDS_S = 5.0
_SILENCE_S = 2.0
_UNCOMMITTED = {"isolation.level": "read_uncommitted"}


def commit_log_ends(admin: ClusterAdmin) -> list[int | None]:
    """Return the log end of each partition of ``__consumer_offsets``, None without a leader.

    Empty where the topic does not exist. Raises ClusterError where the cluster does not answer.
    """
    count = admin.partition_count(CONSUMER_OFFSETS, _ENDS_S) or 0
    partitions = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(count)]
    ends = admin.ends(partitions, _ENDS_S)
    return [ends[each].log_end if each in ends else None for each in partitions]


class HeldCommitsReader:
    """Reads commits held back by open transactions; *options* are librdkafka's."""

    def __init__(self, admin: ClusterAdmin, options: Mapping[str, str]) -> None:
        self._admin = admin
        self._uncommitted = RangeReader(admin.alias, {**options, **_UNCOMMITTED}, _SILENCE_S)

    def read(self, partitions: Collection[int], deadline: float = DEADLINE_S) -> dict[int, HeldCommits]:
        """Return the commits held back in those of *partitions* where a transaction is open.

        Raises ClusterError where the cluster does not answer. Errs to unknown keys, after *deadline* (seconds).
        """
        ends_at = time.monotonic() + deadline
        reaches = self._admin.reaches(lambda name: name == CONSUMER_OFFSETS, deadline)
        found: dict[int, HeldCommits] = {}
        for place, reach in reaches.items():
            if place.partition in partitions and reach.stable < reach.high:
                keys, since_ms = self._keys(place, reach, ends_at)
                found[place.partition] = HeldCommits(place.partition, reach.stable, reach.high, keys, since_ms)
        return found

    def _keys(
        self, place: TopicPartition, reach: Reach, ends_at: float
    ) -> tuple[frozenset[GroupPartition] | None, int | None]:
        """Return the keys of all held back commits, None if not all can be read, and the time of the first."""
        keys: set[GroupPartition] = set()
        since_ms: int | None = None
        try:
            for record in self._records({place: OffsetRange(reach.stable, reach.high)}, ends_at):
                since_ms = record.timestamp_ms if since_ms is None else since_ms
                with suppress(DecodeError):  # sync_offsets quarantines it
                    if record.key is not None and (key := decode_commit_key(record.key)) is not None:
                        keys.add(GroupPartition(*key))
        except ClusterError:  # for example, not authorized
            return None, since_ms
        return frozenset(keys), since_ms

    def _records(self, ranges: Mapping[TopicPartition, OffsetRange], ends_at: float) -> Iterator[RecordContent]:
        """Yield the records of *ranges*; raises ClusterError if not all are read by *ends_at*."""
        for chunk in self._uncommitted.read(ranges):
            yield from (record for _, record in chunk)
            if time.monotonic() > ends_at:
                raise ClusterError(self._admin.alias, "records not read in time")
