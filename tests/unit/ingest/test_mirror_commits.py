"""MirrorMaker's group sync beside us: its commits make no cluster the owner."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint
from builders.offset_records import commit_key, commit_value
from fakes.ingest import IngestingJob, Raw
from offset_sync.config.stream_names import SAME_NAMES
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.mirror_commits import LATE_S, ToldByCheckpoints
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.kafka.error_codes import NotAuthorizedError, TransientError
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import OWN_TAG, CommitRecords
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.state.restore import restore_commits

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
    value = commit_value(offset, epoch=epoch, metadata=metadata, committed_at_ms=at_ms)
    return commit_key(group, "orders", 0), value


def job_with(*checkpoints: tuple[int, int], metadata: str = "") -> MirroredJob:
    job = MirroredJob()
    job.said.say(*(checkpoint(offset, at_ms, metadata=metadata) for offset, at_ms in checkpoints))
    return job


def test_its_commit_is_nobodys_own_and_reconciles_nothing() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    assert job.genuine_offset() == -1
    assert job.commits("committed_offset", "is_own") == [(100, True)]
    assert job.reconciled == [([], 0)]


def test_what_stands_there_may_be_replaced_up_or_down() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    columns = job.offsets.clusters["X"].columns
    assert (columns["actual_offset"][0], bool(columns["actual_is_own"][0])) == (100, True)


def test_a_commit_with_a_leader_epoch_is_a_consumers_whatever_its_offset() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100, epoch=5))
    assert job.genuine_offset() == 100
    assert job.said.reads == 0


def test_a_consumer_that_starts_where_it_was_put_and_says_so_is_its_own() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    job.ingest(1, commit(100, AN_HOUR_AGO_MS + 5_000, epoch=5), first=1)
    assert job.genuine_offset() == 100


def test_a_reset_by_a_person_to_another_offset_is_genuine() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(90))
    assert job.genuine_offset() == 90
    assert job.waited_s == 0  # an hour old: no checkpoint of it comes any more


def test_where_no_mirror_maker_is_nobody_waits() -> None:
    job = MirroredJob()
    job.ingest(0, commit(100, NOW_MS))
    assert (job.genuine_offset(), job.waited_s, job.said.reads) == (100, 0, 1)


def test_a_checkpoint_that_comes_after_the_commit_is_waited_for() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    job.meanwhile = lambda: job.said.say(checkpoint(100, NOW_MS)) if 1 <= job.waited_s < 1.25 else None
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == -1
    assert 1 <= job.waited_s < LATE_S


def test_also_for_the_first_one_of_all() -> None:
    job = job_with()
    job.meanwhile = lambda: job.said.say(checkpoint(100, NOW_MS)) if job.waited_s == 0.25 else None
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == -1


def test_a_checkpoint_that_does_not_come_is_not_waited_for_for_ever() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == 100
    assert job.waited_s <= LATE_S + 0.5


def test_our_own_commits_are_not_asked_about_with_the_tag_or_without() -> None:
    job = job_with((50, AN_HOUR_AGO_MS))
    key = job.offsets.ids([GroupPartition("g", "orders", 0)])
    job.offsets.clusters["X"].begin(key, np.array([70]), NOW_MS)
    job.ingest(0, commit(60, NOW_MS, metadata=OWN_TAG), commit(70, NOW_MS, metadata="carried"))
    assert (job.genuine_offset(), job.said.reads) == (-1, 0)


def test_checkpoints_that_do_not_answer_end_the_batch_and_it_comes_again() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.said.error = TransientError("X", "does not answer")
    with pytest.raises(ClusterError):
        job.ingest(0, commit(100))
    assert job.commits("committed_offset") == []
    job.said.error = None
    job.ingest(0, commit(100))
    assert job.genuine_offset() == -1


def test_checkpoints_that_may_not_be_read_leave_commits_genuine() -> None:
    job = MirroredJob()
    job.said.error = NotAuthorizedError("X", "Y.checkpoints.internal", "Read")
    job.ingest(0, commit(100, NOW_MS))
    assert job.genuine_offset() == 100


def test_it_is_said_once_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 2_000), (110, AN_HOUR_AGO_MS))
    with caplog.at_level(logging.WARNING):
        job.ingest(0, commit(100))
        job.ingest(1, commit(110, AN_HOUR_AGO_MS + 1_000), first=1)
    told = [record.getMessage() for record in caplog.records if "MirrorMaker" in record.getMessage()]
    assert len(told) == 1
    assert "sync.group.offsets.enabled = false" in told[0]


def test_also_after_a_restart_which_knows_it_only_from_the_table() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    restore_commits(job.tables, job.state, CommitLogLives(job.tables), ["X"])
    job.ingest(1, commit(100, AN_HOUR_AGO_MS + 5_000, epoch=5), first=1)
    assert job.genuine_offset() == 100


@pytest.mark.parametrize("batches", [1, 2])
def test_a_group_that_is_set_back_to_its_old_checkpoint_has_said_so_itself(batches: int) -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    read, reset = commit(200, AN_HOUR_AGO_MS + 1_000), commit(100, AN_HOUR_AGO_MS + 900_000)
    if batches == 1:
        job.ingest(0, commit(100), read, reset)
    else:
        job.ingest(0, commit(100), read)
        job.ingest(1, reset, first=2)
    assert job.genuine_offset() == 100
    assert job.commits("log_offset", "is_own") == [(0, True), (1, False), (2, False)]


def test_nor_is_what_it_says_twice_mirror_makers() -> None:
    job = job_with((200, AN_HOUR_AGO_MS))
    job.ingest(0, commit(200, AN_HOUR_AGO_MS - 600_000), commit(200, AN_HOUR_AGO_MS + 1_000))
    assert job.commits("is_own") == [(False,), (False,)]


def test_above_what_the_group_has_read_there_it_is_mirror_makers_again() -> None:
    job = job_with((200, AN_HOUR_AGO_MS))
    job.ingest(0, commit(150, AN_HOUR_AGO_MS - 600_000), commit(200, AN_HOUR_AGO_MS + 1_000))
    assert job.commits("log_offset", "is_own") == [(0, False), (1, True)]


def test_a_micro_batch_that_comes_again_is_judged_by_what_stood_before() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.reconcile_errors.append(RuntimeError("killed"))
    with pytest.raises(RuntimeError):
        job.ingest(0, commit(50, AN_HOUR_AGO_MS - 5_000), commit(100), commit(120, AN_HOUR_AGO_MS + 5_000))
    job.ingest(0, commit(50, AN_HOUR_AGO_MS - 5_000), commit(100), commit(120, AN_HOUR_AGO_MS + 5_000))
    assert job.commits("log_offset", "is_own") == [(0, False), (1, True), (2, False)]


def test_the_echo_of_the_groups_own_commit_does_not_explain_it() -> None:
    job = MirroredJob()
    job.commits_at_y(50, AN_HOUR_AGO_MS - 600_000, is_copied=False)
    job.commits_at_y(290, AN_HOUR_AGO_MS + 10_000, is_copied=True)  # what it read here, by the flow back
    job.said.say(checkpoint(300, AN_HOUR_AGO_MS + 20_000, source_offset=290))
    job.ingest(0, commit(300))
    assert job.genuine_offset() == 300


def test_what_the_group_had_read_there_is_no_echo_though_it_moved_here_since() -> None:
    job = MirroredJob()
    job.commits_at_y(290, AN_HOUR_AGO_MS - 5_000, is_copied=False)
    job.said.say(checkpoint(300, AN_HOUR_AGO_MS + 2_000, source_offset=290))  # by a clock that is ahead
    job.commits_at_y(390, AN_HOUR_AGO_MS + 600_000, is_copied=True)
    job.ingest(0, commit(300), commit(400, AN_HOUR_AGO_MS + 500_000))
    assert job.commits("log_offset", "is_own") == [(0, True), (1, False)]


def test_of_which_it_is_waited_for_what_the_other_cluster_has_to_say() -> None:
    job = MirroredJob()
    job.commits_at_y(50, AN_HOUR_AGO_MS - 600_000, is_copied=False)
    job.said.say(checkpoint(300, AN_HOUR_AGO_MS + 20_000, source_offset=290))
    job.meanwhile = lambda: job.commits_at_y(290, AN_HOUR_AGO_MS + 10_000, is_copied=True)
    job.ingest(0, commit(300))
    assert job.genuine_offset() == 300


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_checkpoint_of_a_clock_ahead_explains_what_the_group_has_read_there(is_heard: bool) -> None:
    job = MirroredJob()
    if is_heard:
        job.commits_at_y(310, AN_HOUR_AGO_MS - 5_000, is_copied=False)
    job.said.say(checkpoint(300, AN_HOUR_AGO_MS + 20_000, source_offset=290))
    job.ingest(0, commit(300))
    assert job.genuine_offset() == -1
    assert (job.waited_s == 0) == is_heard
    assert job.waited_s <= LATE_S + 0.5


def test_what_mirror_maker_wrote_there_before_is_no_echo_of_what_came_later() -> None:
    job = MirroredJob()
    job.commits_at_y(290, AN_HOUR_AGO_MS - 10_000, is_copied=True)  # from a third cluster, and on to here
    job.said.say(checkpoint(300, AN_HOUR_AGO_MS + 2_000, source_offset=290))
    job.ingest(0, commit(300))
    assert job.genuine_offset() == -1
