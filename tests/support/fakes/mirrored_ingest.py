"""A job that takes in commits of a cluster where MirrorMaker's group sync writes too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint
from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob, Raw
from offset_sync.config.stream_names import SAME_NAMES
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.mirror_commits import ToldByCheckpoints
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints

NOW_MS = 1_795_000_000_000
AN_HOUR_AGO_MS = NOW_MS - 3_600_000


@dataclass
class MirroredJob(IngestingJob):
    """Takes in commits of X, to which MirrorMaker copies from Y; time passes only where it is waited for."""

    said: MemoryCheckpoints = field(default_factory=MemoryCheckpoints)
    waited_s: float = 0.0
    meanwhile: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.now_ms = NOW_MS
        self.state.now_ms = lambda: self.now_ms
        self.log_offset = 0
        told = ToldByCheckpoints(MirrorCheckpoints("X", {"Y": [self.said]}, SAME_NAMES), lambda: self.now_ms, self.wait)
        checkpoint_of_query = self
        ingester = CommitIngester("X", self.tables, checkpoint_of_query, 2, Reading(mirrors=told))  # type: ignore[arg-type]
        self.batch = SyncBatch(ingester, self.state, self, self.metrics, self.is_ready)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.waited_s += seconds
        self.now_ms += int(seconds * 1000)
        self.meanwhile()

    def commits_at_y(self, offset: int, at_ms: int, *, is_copied: bool) -> None:
        """Take in a commit of Y, of MirrorMaker's or of the group."""
        records = CommitRecords(
            key=np.array([0]),
            offset=np.array([offset]),
            is_tombstone=np.array([False]),
            committed_at_ms=np.array([at_ms]),
            log_offset=np.array([self.log_offset]),
            metadata=[""],
            topic_id=[None],
            leader_epoch=np.array([ABSENT]),
        )
        self.log_offset += 1
        self.state.record("Y", [GroupPartition("g", "orders", 0)], records, np.array([is_copied]))

    def genuine_offset(self, group: str = "g") -> int:
        """Return the last commit that is somebody's own, -1 where none is."""
        (row,) = self.offsets.ids([GroupPartition(group, "orders", 0)]).tolist()
        return int(self.offsets.clusters["X"].columns["genuine_offset"][row])


def commit(offset: int, at_ms: int = AN_HOUR_AGO_MS, *, epoch: int = -1, metadata: str = "", group: str = "g") -> Raw:
    """Return a commit of a group as it stands in the log."""
    value = commit_value(offset, epoch=epoch, metadata=metadata, committed_at_ms=at_ms)
    return commit_key(group, "orders", 0), value


def job_with(*checkpoints: tuple[int, int], metadata: str = "") -> MirroredJob:
    """Return a job that may read checkpoints, an offset and a time each."""
    job = MirroredJob()
    job.said.say(*(checkpoint(offset, at_ms, metadata=metadata) for offset, at_ms in checkpoints))
    return job
