"""Clusters and an index in memory: what the reconcile pass asks, answered at once and by a clock that tests turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fakes.tables import MemoryTables
from generators.mirrored_logs import Increment, maximal_runs
from offset_sync.kafka.requests import partition_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochEnd, OffsetWrite, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.record_index import RecordIndex
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition_log import Incarnation
from oracles.translation import Log
from oracles.translation_check import extend_index

GroupKey = tuple[str, TopicPartition]
"""A group's partition."""


class MemoryTopic(NamedTuple):
    """One incarnation of a topic."""

    topic_id: str
    partitions: int = 1


class MemoryEnds(NamedTuple):
    """The offsets a partition holds, half-open."""

    log_start: int
    log_end: int
    leader_epoch: int | None = None


@dataclass(frozen=True)
class CommitRecord:
    """One record of ``__consumer_offsets``; *offset* None is a tombstone."""

    group_id: str
    place: TopicPartition
    offset: int | None
    at_ms: int
    metadata: str = ""
    topic_id: str | None = None
    leader_epoch: int = -1
    log_partition: int = 0


class GroupOffset(NamedTuple):
    """What the coordinator has committed for one partition of a group."""

    offset: int
    metadata: str


@dataclass
class MemoryCluster:
    """A cluster that never waits; its ``__consumer_offsets`` is *log*.

    *refused* holds the error of every write to a group, *without_leader* partitions whose ends are unknown, *forbidden*
    topics that may not be described.
    """

    alias: str
    clock_ms: list[int]
    topics: dict[str, MemoryTopic] = field(default_factory=dict)
    logs: dict[TopicPartition, MemoryEnds] = field(default_factory=dict)
    log: list[CommitRecord] = field(default_factory=list)
    group_offsets: dict[GroupKey, GroupOffset] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    without_leader: set[TopicPartition] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    is_down: bool = False
    written: list[OffsetWrite] = field(default_factory=list)

    def commit(
        self, group_id: str, place: TopicPartition, offset: int, metadata: str = "", topic_id: str | None = None
    ) -> None:
        """Commit as a consumer does."""
        self._store(CommitRecord(group_id, place, offset, self.clock_ms[0], metadata, topic_id))

    def forget(self, group_id: str, place: TopicPartition) -> None:
        """Delete a group's offset, which leaves a tombstone."""
        self._store(CommitRecord(group_id, place, None, self.clock_ms[0]))

    def _store(self, record: CommitRecord) -> None:
        self.log.append(record)
        self.group_offsets.pop((record.group_id, record.place), None)
        if record.offset is not None:
            self.group_offsets[record.group_id, record.place] = GroupOffset(record.offset, record.metadata)

    def describe(self, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        """Answer what :class:`offset_sync.state.cluster_metadata.MetadataFetcher` asks."""
        if self.is_down:
            return self._silence()
        topics = {name: topic for name, topic in self.topics.items() if name not in self.forbidden}
        ends = {p: ends for p, ends in self.logs.items() if p not in self.without_leader and p.topic in topics}
        refused = {name: ClusterError(self.alias, f"{name} may not be described") for name in self.forbidden}
        return ClusterMetadata(topics, ends, refused)

    def cluster_id(self, deadline: float) -> str:
        """Return the cluster's own id."""
        if self.is_down:
            raise self._silence()
        return f"id-of-{self.alias}"

    def groups(self, deadline: float) -> list[str]:
        """Return the groups that have committed anything."""
        if self.is_down:
            raise self._silence()
        return sorted({group for group, _ in self.group_offsets})

    def committed_offsets(
        self, groups: Sequence[str], deadline: float
    ) -> Mapping[str, Mapping[TopicPartition, GroupOffset]]:
        """Answer what the offset writer reads."""
        if self.is_down:
            raise self._silence()
        return {
            wanted: {place: stands for (group, place), stands in self.group_offsets.items() if group == wanted}
            for wanted in groups
        }

    def write_offsets(
        self, writes: Mapping[str, Sequence[OffsetWrite]], deadline: float, may_send: Callable[[], bool]
    ) -> Mapping[str, Mapping[TopicPartition, str | None]]:
        """Take what the sink writes."""
        if self.is_down:
            raise self._silence()
        return {
            group: {partition_of(each): self._write(each) if may_send() else "REQUEST_NOT_SENT" for each in wanted}
            for group, wanted in writes.items()
        }

    def _write(self, write: OffsetWrite) -> str | None:
        self.written.append(write)
        if error := self.refused.get(write.group_id):
            return error
        epoch, place = -1 if write.leader_epoch is None else write.leader_epoch, partition_of(write)
        self._store(CommitRecord(write.group_id, place, write.offset, self.clock_ms[0], write.metadata, None, epoch))
        return None

    def _silence(self) -> ClusterError:
        return ClusterError(self.alias, "does not answer")


class MemoryIndex(RecordIndex):
    """The record index, of which a test fills the logs, and says what is known of them beside."""

    def __init__(self) -> None:
        super().__init__(MemoryTables())  # type: ignore[arg-type]
        self.logs, self.ids = self._taken.logs, dict[tuple[str, str], set[str]]()
        self._incarnations._topic_ids = self.ids  # type: ignore[assignment]
        self.epochs: dict[ClusterPartition, tuple[str, int]] = {}
        self.uncut: set[ClusterPartition] = set()
        self.lives: dict[ClusterPartition, list[Incarnation]] = {}
        self.ended: dict[ClusterPartition, list[EpochEnd]] = {}
        self.clock_offset.observe(0, 0)

    @property
    def grown(self) -> set[TopicPartition]:
        """The partitions extended since they were taken last."""
        return self._grown

    def incarnations(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the lives of a log after its first."""
        return self.lives.get(log, [])

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return the topic id and the leader epoch under which a log was checked."""
        return self.epochs.get(log)

    def is_uncut(self, log: ClusterPartition) -> bool:
        """Return whether a test has said that the index is not cut yet."""
        return log in self.uncut

    def epoch_ends(self, log: ClusterPartition) -> list[EpochEnd]:
        """Return where the records of earlier leaders ended, as far as a test says so."""
        return self.ended.get(log, [])

    def extend(self, log: Log, place: TopicPartition) -> None:
        """Index *log* up to its frontier; what was indexed before stays."""
        for record in log.records:
            self.code(record.origin)
        index = self.logs.setdefault(ClusterPartition(log.cluster, *place), LogIndex())
        self.grown.add(place)
        extend_index(index, Increment(maximal_runs(log.indexed), log.frontier), self._codes)

    def refresh(self) -> None:
        """Do nothing: the tables are empty."""

    def partitions(self, cluster: str, topic: str) -> int:
        """Return how many partitions of a topic were indexed."""
        return sum(key[:2] == (cluster, topic) for key in self.logs)


def to_records(records: Iterable[CommitRecord], key: Sequence[int], first_log_offset: int) -> CommitRecords:
    """Return *records* of a log from *first_log_offset* on, as a batch of commits."""
    rows = list(records)
    return CommitRecords(
        key=np.array(key, np.intp),
        offset=np.array([-1 if row.offset is None else row.offset for row in rows], np.int64),
        is_tombstone=np.array([row.offset is None for row in rows], np.bool_),
        committed_at_ms=np.array([row.at_ms for row in rows], np.int64),
        made_ms=np.array([row.at_ms for row in rows], np.int64),
        log_partition=np.array([row.log_partition for row in rows], np.int64),
        log_offset=np.arange(first_log_offset, first_log_offset + len(rows)),
        topic_id=[row.topic_id for row in rows],
        leader_epoch=np.array([row.leader_epoch for row in rows], np.int64),
    )
