"""A log of commits that is cut and recreated, and the job that takes it in: no Spark, and no cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from builders.offset_records import commit_key, commit_value
from builders.record_schemas import CONSUMER_OFFSETS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.commit_rows import AsTables
from fakes.ingest import WRITTEN_MS, IngestingJob, Raw
from fakes.tables import MemoryTables
from offset_sync.ingest.commit_batch import decode_batches, unread_rows
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS as TOPIC
from offset_sync.model.values import (
    ClusterPartition,
    EpochChange,
    GroupPartition,
    OffsetRange,
    ReportedEnd,
    Stop,
    TopicPartition,
)
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS
from offset_sync.tables.store import TableStore
from oracles.commit_lives import replay

LOG = TopicPartition(TOPIC, 3)


def commit(offset: int, group: str = "g") -> Raw:
    """Return a record: what *group* commits of orders-0."""
    return commit_key(group, "orders", 0), commit_value(offset, committed_at_ms=1_700_000_000_000)


def tombstone(group: str = "g") -> Raw:
    """Return a record: what *group* had is deleted."""
    return commit_key(group, "orders", 0), None


def restore(
    tables: MemoryTables | TableStore, state: SyncState, lives: CommitLogIncarnations, only: Collection[str] = ("X",)
) -> int:
    """Do as ``restore_commits`` does by Spark."""
    lives.refresh()
    rows = tables.all_rows(OFFSET_COMMITS)
    for alias in only:
        mine = rows.filter(pc.equal(rows.column("cluster"), alias))
        keys = zip(*(mine.column(name).to_pylist() for name in GroupPartition._fields), strict=True)
        state.offsets.ids([GroupPartition(*key) for key in keys])
        replay(state, alias, mine, lives)
        lives.take(alias)
    return 0


@dataclass
class CommitLogJob(IngestingJob, AsTables):
    """Takes in partition 3 of X's log of commits, which holds *log*; a restarted one has the same tables and plans."""

    log: list[Raw] = field(default_factory=list)
    topic_id: str = "first"
    cuts: list[int] = field(default_factory=list)
    ends_by_batch: list[int] = field(default_factory=list)
    done: int = 0
    is_silent: bool = False
    is_leader_silent: bool = False
    is_first: bool = True
    unread: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        tables: Any = self.tables
        self.lives = CommitLogIncarnations(tables)
        checkpoint: Any = self
        self.incarnations = IncarnationCheck(tables, {"X": self}, self.reaches, of_commits=True)
        logs = CommitLogCheck("X", checkpoint, self, self.incarnations)
        ingester = CommitIngester("X", tables, checkpoint, self, 1, Reading(logs, self.lives, most=1))
        self.batch = SyncBatch(ingester, self.state, self, self.metrics, self.is_ready)
        restore(self.tables, self.state, self.lives)

    def restarted(self) -> CommitLogJob:
        """Return the next driver."""
        return CommitLogJob(
            self.tables,
            log=self.log,
            topic_id=self.topic_id,
            cuts=self.cuts,
            ends_by_batch=self.ends_by_batch,
            done=self.done,
        )

    def cut(self, end: int, *later: Raw) -> None:
        """Lose the records at *end* and above, under another leader, and get others."""
        self.cuts.append(end)
        self.log[end:] = later

    def recreate(self, *records: Raw) -> None:
        """Be another topic of that name."""
        self.topic_id, self.cuts, self.log[:] = "second", [], list(records)

    def take_in(self, *, read: list[Raw] | None = None) -> None:
        """Take in the next micro-batch, or once more the one that failed; *read* is what was read of it."""
        if len(self.ends_by_batch) == self.done:
            self.ends_by_batch.append(len(self.log))
        start, end = self.start_offsets(self.done)[LOG], self.ends_by_batch[self.done]
        self.is_first = True
        self.ingest(self.done, *(self.log[start:end] if read is None else read), first=start)
        self.done += 1

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """As a checkpoint says it."""
        return {LOG: self.ends_by_batch[batch_id - 1] if batch_id else 0}

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        """As a checkpoint says it."""
        return {LOG: self.ends_by_batch[batch_id]}

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, Any]:
        """Say which topic it is, and where its log ends."""
        if self.is_silent:
            return {"X": ClusterError("X", "does not answer")}
        ends = (
            {LOG: MemoryEnds(0, len(self.log), len(self.cuts))}
            if LOG in wanted["X"] and not self.is_leader_silent
            else {}
        )
        return {"X": ClusterMetadata({TOPIC: MemoryTopic(self.topic_id, 8)}, ends)}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        """Say where leader epochs ended."""
        return {each: ReportedEnd(min([len(self.log), *self.cuts[epoch.known :]])) for each, epoch in epochs.items()}

    def reaches(self) -> dict[ClusterPartition, int]:
        """Say up to where commits are written down."""
        rows = self.tables.all_rows(OFFSET_COMMITS)
        standing = rows.filter(pa.array(self.lives.gone_ms(rows) < 0)).column("log_offset").to_pylist()
        return {ClusterPartition("X", *LOG): max(standing, default=-1) + 1}

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Iterator[pa.RecordBatch]:
        """Yield the records of the micro-batch; at a second call, those that are there now."""
        if self.is_first:
            self.is_first = False
            yield from self.rows.read(ranges)
            if self.unread:
                yield unread_rows({LOG: Stop(0, self.unread)})
            return
        rows = [
            {"key": key, "value": value, "partition": 3, "offset": first + number, "timestamp": WRITTEN_MS * 1000}
            for first, end in ranges.values()
            for number, (key, value) in enumerate(self.log[first:end])
        ]
        yield from decode_batches(pa.Table.from_pylist(rows, CONSUMER_OFFSETS).to_batches())

    def reasons(self) -> list[tuple[Any, ...]]:
        """Return what was written down of the log's lives, in order: leader epoch, from where on, and why."""
        rows = self.tables.rows(LOG_INCARNATIONS, "noticed_at", "leader_epoch", "begins_at", "reason")
        return [row[1:] for row in sorted(rows, key=lambda row: row[0])]

    def known(self, group: str = "g") -> dict[str, Any]:
        """Return what is known of the group's partition."""
        (row,) = self.offsets.ids([GroupPartition(group, "orders", 0)]).tolist()
        columns = self.offsets.clusters["X"].columns
        names = ("log_offset", "actual_offset", "actual_is_own", "genuine_offset", "is_deleted")
        return {name: columns[name][row].item() for name in names}
