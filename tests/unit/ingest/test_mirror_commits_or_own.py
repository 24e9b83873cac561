"""What seems to be of MirrorMaker's group sync, and is the group's own: set back, said twice, or an echo."""

from __future__ import annotations

import pytest

from builders.mirror_checkpoints import checkpoint
from fakes.mirrored_ingest import AN_HOUR_AGO_MS, MirroredJob, commit, job_with
from offset_sync.ingest.mirror_commits import LATE_S
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import OWN_TAG
from offset_sync.state.restore import restore_commits


def test_a_consumer_that_starts_where_it_was_put_is_its_own_also_where_only_the_table_knows_who_put_it() -> None:
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


def test_what_was_taken_in_before_is_not_judged_by_what_stands_since() -> None:
    job = job_with((100, AN_HOUR_AGO_MS - 1_000))
    job.ingest(0, commit(100))
    job.ingest(1, commit(120, AN_HOUR_AGO_MS + 5_000), first=1)
    job.ingest(0, commit(100))
    assert job.reconciled == [([], 0), (["g"], 1), ([], 0)]
    assert job.genuine_offset() == 120


@pytest.mark.parametrize("batches", [1, 2])
def test_below_what_we_wrote_it_is_mirror_makers_whose_list_was_old(batches: int) -> None:
    job = job_with((160, AN_HOUR_AGO_MS - 1_000))
    ours, its = commit(170, metadata=OWN_TAG), commit(160, AN_HOUR_AGO_MS + 1_000)
    if batches == 1:
        job.ingest(0, ours, its)
    else:
        job.ingest(0, ours)
        job.ingest(1, its, first=1)
    assert job.genuine_offset() == -1
