"""Which groups of any type have members at a cluster now, for reports and moves; needs no running job.

Classic and consumer groups are queried. Streams and share groups come from ``group_events``, and from the part of the
log that ``sync_offsets`` has not read yet::

    __consumer_offsets-7   |----- in the table -----|-- read here --|
                           0              checkpoint of             log end
                                          sync_offsets
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.decode.offset_records import KIND_OF_TYPE, KINDS_BY_LOG
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_batch import DECODED_SCHEMA, Looked, decode_batches, offset_records, to_batch
from offset_sync.ingest.commit_tables import group_event_rows
from offset_sync.kafka.group_members import GroupStates
from offset_sync.kafka.internal_logs import CommitLogReader, LogRecords
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, TopicPartition
from offset_sync.state.groups_by_log import GroupsByLog

logger = logging.getLogger(__name__)
DEADLINE_S, NAMED_DEADLINE_S = 5.0, 30.0
_TYPES = frozenset(number.to_bytes(2, "big") for number, kind in KIND_OF_TYPE.items() if kind in KINDS_BY_LOG)


class GroupActivity:
    """One cluster; *checkpoint* is that of its query of ``sync_offsets``, *by_log* may be shared with others.

    Without a *log*, where commits are polled, the members of streams and share groups are unknown.
    """

    def __init__(
        self, alias: str, asked: GroupStates, log: CommitLogReader | None, checkpoint: Checkpoint, by_log: GroupsByLog
    ) -> None:
        self._alias, self._asked, self._log, self._checkpoint, self._by_log = alias, asked, log, checkpoint, by_log
        self._partitions = 0

    def active(self, groups: Collection[str] | None = None) -> frozenset[str] | ClusterError:
        """Return the groups with members, without :meth:`unknown` ones: all, or *groups* and maybe others.

        For all groups, if the rest of the log is not read within :data:`DEADLINE_S` seconds, streams and share groups
        are those of the table, and a warning is logged. For *groups* it is a ClusterError if their part of the log is
        not read to its end.
        """
        asked = self._asked.active()
        if isinstance(asked, ClusterError) or self._log is None:
            return asked
        try:
            self._read_on(groups)
        except ClusterError as error:
            if groups is not None:
                return error
            logger.warning("%s", error)
        return asked | self._by_log.with_members(self._alias)

    def unknown(self, groups: Collection[str]) -> Collection[str] | ClusterError:
        """Return those of *groups* that the cluster does not list, and the log, as of :meth:`active`, does not have.

        They do not exist there, are of another type, or may not be described: whether they have members is unknown.
        """
        listed = self._asked.listed()
        if isinstance(listed, ClusterError):
            return listed
        return {*groups} - listed.keys() - self._by_log.streams_groups(self._alias) - self.share_groups()

    def share_groups(self) -> frozenset[str]:
        """Return the share groups, with members or without, as of the last :meth:`active`."""
        return self._by_log.share_groups(self._alias)

    def _read_on(self, groups: Collection[str] | None) -> None:
        """Read the log to its end, as far as it may have *groups*."""
        position = self._checkpoint.position()  # first: what is read by then is in the table
        self._by_log.refresh()
        self._by_log.take_in(self._alias, self._read(groups, position))
        # A tombstone may have been compacted before it was read.
        doubtful = self._by_log.with_members(self._alias) & {*(groups or ())}
        if doubtful and self._partitions:
            partitions = _partitions_of(doubtful, self._partitions)
            self._by_log.take_in_whole(self._alias, partitions, self._read(doubtful, {}))

    def _read(self, groups: Collection[str] | None, position: Mapping[int, int]) -> pa.Table:
        """Return group events from *position* on, of *groups* or all; ClusterError if a log is not read to its end."""
        assert self._log is not None
        ends = self._log.ends()
        self._partitions = len(ends)
        self._by_log.note_partitions(self._alias, len(ends))
        wanted = range(len(ends)) if groups is None or not ends else _partitions_of(groups, len(ends))
        ranges, unread = dict[int, OffsetRange](), set[int]()
        for number in wanted:
            start, end = position.get(number, 0), ends[number] if ends else 0
            if end is None:
                unread.add(number)
            elif end > start:
                ranges[number] = OffsetRange(start, end)
        seconds = DEADLINE_S if groups is None else NAMED_DEADLINE_S
        found = self._log.read(ranges, _TYPES, seconds) if ranges else LogRecords({})
        if unread := unread | found.unread:
            what = f"{len(unread)} partitions of {CONSUMER_OFFSETS} are not read to their ends within {seconds:g} s"
            raise ClusterError(self._alias, f"cannot determine which streams groups have members: {what}")
        logs = {TopicPartition(CONSUMER_OFFSETS, number): records for number, records in found.records.items()}
        read = [offset_records([(log, each) for each in records]) for log, records in logs.items()]
        rows = pa.Table.from_batches(list(decode_batches(read)), DECODED_SCHEMA)
        return group_event_rows(self._alias, to_batch(rows, 0, Looked(datetime.now(timezone.utc))))


def _partitions_of(groups: Collection[str], partitions: int) -> Collection[int]:
    return {coordinator_partition(group_id, partitions) for group_id in groups}
