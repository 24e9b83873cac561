"""``__consumer_offsets`` is cut: noticed, read again, and what is known is what its coordinator holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from builders.commits import acknowledge
from builders.offset_records import commit_key, commit_value
from builders.record_schemas import CONSUMER_OFFSETS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.commit_log import restore
from fakes.commit_rows import AsTables
from fakes.ingest import WRITTEN_MS, IngestingJob, Raw
from offset_sync.ingest import commit_ingester
from offset_sync.ingest.commit_batch import decode_batches, unread_rows
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS as TOPIC
from offset_sync.model.values import ClusterPartition, EpochChange, OffsetRange, ReportedEnd, Stop, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations

LOG = TopicPartition(TOPIC, 3)


def commit(offset: int, group: str = "g") -> Raw:
    """Return a record: what *group* commits of orders-0."""
    return commit_key(group, "orders", 0), commit_value(offset)


@dataclass
class Job(IngestingJob, AsTables):
    """Takes in partition 3 of the commit log of X, which holds *log*; some are *unread*."""

    log: list[Raw] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    ends_by_batch: list[int] = field(default_factory=list)
    silent: str = ""
    is_first: bool = True
    unread: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        tables: Any = self.tables
        checkpoint: Any = self
        lives = CommitLogIncarnations(tables)
        incarnations = IncarnationCheck(tables, {"X": self}, self.reaches, of_commits=True)
        logs = CommitLogCheck("X", checkpoint, self, incarnations)
        ingester = CommitIngester("X", tables, checkpoint, self, 1, Reading(logs, lives, most=1))
        self.batch = SyncBatch(ingester, self.state, self, self.metrics, self.is_ready)
        restore(self.tables, self.state, lives)
        if self.log:
            self.take_in()

    def cut(self, end: int, *later: Raw) -> None:
        """Lose the records at *end* and above, under another leader, and get others."""
        self.cuts.append(end)
        self.log[end:] = later

    def take_in(self, batch_id: int = 0, *read: Raw) -> None:
        """Take in a micro-batch, or once more the one that failed; *read* is what was read of it where it was cut."""
        if len(self.ends_by_batch) == batch_id:
            self.ends_by_batch.append(len(self.log))
        start, end = self.start_offsets(batch_id)[LOG], self.ends_by_batch[batch_id]
        self.is_first = True
        self.ingest(batch_id, *(read if self.unread else self.log[start:end]), first=start)

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: self.ends_by_batch[batch_id - 1] if batch_id else 0}

    def end_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {LOG: self.ends_by_batch[batch_id]}

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, Any]:
        if self.silent == "cluster":
            return {"X": ClusterError("X", "does not answer")}
        logs = wanted["X"] if self.silent != "leader" else ()
        ends = {each: MemoryEnds(0, len(self.log), len(self.cuts)) for each in logs}
        return {"X": ClusterMetadata({TOPIC: MemoryTopic("id", 8)}, ends)}

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        return {each: ReportedEnd(min([len(self.log), *self.cuts[epoch.known :]])) for each, epoch in epochs.items()}

    def reaches(self) -> dict[ClusterPartition, int]:
        return {ClusterPartition("X", *LOG): max((offset + 1 for (offset,) in self.commits("log_offset")), default=0)}

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

    def actual(self) -> dict[str, int]:
        """Return which offset each group has by what is known."""
        found = self.offsets.clusters["X"].columns["actual_offset"].tolist()
        return {group: offset for (group, _, _), offset in zip(self.offsets.keys, found, strict=False)}


@pytest.fixture(autouse=True)
def by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore without Spark."""
    monkeypatch.setattr(commit_ingester, "restore_commits", restore)


def test_what_was_acknowledged_and_never_read_may_be_gone_with_a_leader() -> None:
    job = Job(log=[commit(5)])
    for group, offset in (("g", 12), ("first", 13)):
        acknowledge(job.offsets, offset, group=group)
    job.cut(1, commit(1, "new"))
    job.take_in(1)
    assert job.actual() == {"g": 5, "first": -1, "new": 1}


@pytest.mark.parametrize(
    ("silent", "said"),
    [("cluster", "does not answer"), ("leader", "no answer about __consumer_offsets-3, which was read")],
)
def test_while_a_cluster_or_the_leader_does_not_answer_nothing_is_taken_in(silent: str, said: str) -> None:
    job = Job(log=[commit(5)])
    job.log.append(commit(8))
    job.silent = silent
    with pytest.raises(ClusterError, match=said):
        job.take_in(1)
    assert (job.genuine(), job.commits("committed_offset")) == ({"g": 5}, [(5,)])
    job.silent = ""
    job.take_in(1)
    assert job.genuine() == {"g": 8}


def test_one_that_was_cut_is_read_as_it_is_now_whatever_could_be_read_of_it_before() -> None:
    job = Job(log=[commit(1), commit(2), commit(3)])
    job.log += [commit(4), commit(5)]
    job.ends_by_batch.append(5)
    job.cut(2, commit(7))
    job.unread = "the log ends at offset 3"
    job.take_in(1)
    assert job.genuine() == {"g": 7}
