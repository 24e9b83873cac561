"""What the simulation notices: each protection with the seed whose history breaks the promise without it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

from fakes.unchecked import UncheckedLogs
from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.state.group_homes import Activity, Homes, homes
from offset_sync.state.own_writes import OwnWrites
from offset_sync.sync.offset_writer import _Batch
from offset_sync.translate.exact import needs_of_unindexed
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections import invariant_patches as without
from protections.entry import (
    as_if,
    false_for,
    given,
    gives,
    kept_by,
    kept_together,
    no,
    nothing,
    protections,
    seed,
    setting,
    yes,
)

_poll, _try, _note_answered = CommitPoller.poll, _Batch._try, OwnWrites.note_answered


def _newer_by_offset(offsets: Any, records: Any) -> Any:
    return records.log_offset > offsets.columns["log_offset"][records.key]


def _answered_by_all(at_ms: int) -> Any:
    answered_ms = MagicMock()
    answered_ms.get.return_value = answered_ms.__getitem__.return_value = at_ms
    answered_ms.__contains__.return_value = True
    return answered_ms


def _poll_as_if_all_had_answered(poller: Any) -> Any:
    began_ms, found = poller._state.now_ms(), _poll(poller)
    poller._answered_ms = _answered_by_all(began_ms)
    return found


def _dated_by_the_poll(activity: Activity, *times: Any) -> Homes:
    return homes(activity._replace(since_ms=activity.committed_ms), *times)


_INDEX_AT_ONCE: dict[str, object] = {
    "simulation.sync_driver.SyncDriver.reconcile_batch": without.hand_over_with_the_newest_index
}
"""In most worlds the index lags behind the tables, and hides these. Alone this takes nothing out."""


PROTECTIONS = protections(
    "an index that grows may still be behind",
    kept_together(
        {"log_check.Completeness.of": without.whatever_was_read, **_INDEX_AT_ONCE}, seed(183, "late,backlog")
    ),
    "lives of logs are told apart",
    kept_by("incarnation_check.IncarnationCheck._rows", gives(([], 0)), seed(42, "third_anew")),
    "leader epochs are compared",
    kept_together(
        {
            "incarnation_check.IncarnationCheck._is_questionable": no,
            "checked_metadata.CheckedMetadata._changes": gives({}),
        },
        seed(4, "cut_grows"),
    ),
    "leader epochs are compared before each translation",
    kept_by("checked_metadata.CheckedMetadata._changes", gives({}), seed(161, "cut_grows")),
    "answers at a target that was cut end at the cut",
    kept_by("log_index.LogIndex.below", given(0), seed(78, "cut_grows")),
    "holes below an index that began late are read with the next record only",
    kept_by("partition.needs_of_unindexed", lambda *asked: needs_of_unindexed(*asked) - 1, seed(47, "late_index,drop")),
    "below an index that began late there may be copies that a cut has taken, or of a former life",
    kept_together({"exact._may_differ": false_for(0), **_INDEX_AT_ONCE}, seed(5322, "late_index,cut_grows", steps=600)),
    "the first own record of an index that began late may be a copy that came back",
    kept_by("exact._is_echo", false_for(0), seed(226, "late_index,echo")),
    "our clock may be ahead of the index's",
    kept_by("cluster_clock.ClockOffset.at_most", gives(0), seed(15, "clocks,late")),
    "a truncation of __consumer_offsets is noticed",
    kept_by("commit_log_check.CommitLogCheck.look", lambda _check, _id: UncheckedLogs().look(_id), seed(0, "shrink")),
    "a commit that some cluster has is not forgotten",
    kept_by("simulation.persisted.is_over", without.deleted_anywhere, seed(201, "expire,crash")),
    "a driver that was taken over writes nothing",
    kept_by("lease.Lease.is_open", yes, seed(85, "second,pause")),
    "a hole is on no list",
    kept_by("read_list._HOLES_ARE_UNREAD", NEVER_YOUNG, seed(6, "lists,drop")),
    "a list is of a leader epoch",
    kept_by(
        "offset_sync_consumer.progress.Progress.is_read", without.on_a_list_of_any_epoch, seed(187, "lists,cut_grows")
    ),
    "a rewind that is noted after a list was planned takes it away",
    kept_by("read_lists.ReadLists._rewinds", gives((0,)), seed(94, "lists,reset,pause")),
    "what was set back elsewhere is not listed there",
    kept_by("sync_state.SyncState._is_back_elsewhere", false_for(2), seed(5207, "lists,drop,reorder,reset", steps=600)),
    "our own commits are known",
    kept_by("own_writes.OwnWrites.claim", false_for(1), seed(0, "moves")),
    "records of different partitions have no order by offset",
    kept_by("committed_offsets.ClusterOffsets._is_newer", _newer_by_offset, seed(35, "coordinators")),
    "clusters' clocks are not believed",
    kept_by("cluster_clock.ClusterClock.made_ms", given(1), seed(0, "skewed")),
    "what a clock was measured to be counts for a backlog",
    kept_by("cluster_clock.ClusterClock.ahead_ms", None, seed(1, "skewed")),
    "a backlog under a clock that is ahead is of any age",
    kept_by("cluster_clock.ClusterClock.undated_ms", 0, "own_writes a_write_in_doubt_explains_no"),
    "a write may be sent minutes after it was noted",
    kept_by(
        "own_writes._Write.in_doubt",
        lambda write, _at_ms: write._replace(is_in_doubt=True),
        seed(520366349, "lists,losses", steps=600),
    ),
    "a home that is not silent stays the home",
    kept_by("state.group_homes.homes", as_if(homes, 2, 0), seed(1, "twins")),
    "two clusters that are active have no home",
    kept_by("state.group_homes.homes", without.never_contested, seed(1, "twins")),
    "times that are near each other have no order",
    kept_by("state.group_homes.UNCERTAIN_MS", -1, seed(1, "twins")),
    "members count as active",
    kept_by("state.group_homes.GroupHomes.note_members", nothing, seed(5, "tools")),
    "cutover decides",
    kept_by("state.group_homes.GroupHomes.note_moves", nothing, seed(13, "moves")),
    "what we wrote at a home raises nothing elsewhere",
    kept_by(
        "write_plan._is_raised_by_ours", false_for(1), seed(330, "retention,reset,late_index,drop,resend", steps=600)
    ),
    "at home what the coordinator holds counts",
    kept_by(
        "committed_offsets.ClusterOffsets.position",
        lambda offsets, rows: (offsets.columns["genuine_offset"][rows], offsets.columns["genuine_at_ms"][rows]),
        seed(554, "moves"),
    ),
    "a polled commit is as old as the last answer of its own group",
    kept_by("polled_commits.CommitPoller.poll", _poll_as_if_all_had_answered, seed(17, "polls")),
    "a driver that starts knows of recorded polls only",
    kept_by(
        "polled_commits.CommitPoller._recorded_ms",
        lambda self: _answered_by_all(self._state.now_ms()),
        seed(0, "polls"),
    ),
    "a polled commit may have been made at any time of an interval",
    kept_by("state.group_homes.homes", _dated_by_the_poll, seed(7, "polls")),
    "our own writes are known among what is polled",
    kept_by("own_writes.OwnWrites.claim", false_for(1), seed(1, "polls")),
    "what coordinators do not hold any more was deleted",
    kept_by("polled_commits.CommitPoller._held", gives({}), seed(1, "polls")),
    "a write whose answer is awaited may be applied at any time",
    kept_by("own_writes._Write.is_open", False, "own_writes a_write_in_doubt"),
    "a write that was sent after an election is as old as its answer",
    kept_by("own_writes.OwnWrites.note_answered", as_if(_note_answered, 3, -1), seed(9100275, "jumping", steps=600)),
    "a poll ends the writes that it does not show",
    kept_by("own_writes.OwnWrites.note_held", nothing, seed(736779585, "lists,polls", steps=600)),
    "what a poll finds again is no commit",
    kept_by("polled_commits.CommitPoller._is_new", lambda *found: found[2] >= 0, seed(0, "polls")),
    "all groups have to answer at first",
    kept_by("polled_commits.TransientError", KeyError, seed(0, "polls")),
    "polls and records of the log have no order by offset",
    kept_by("committed_offsets.ClusterOffsets._is_newer", _newer_by_offset, seed(2, "polls")),
    "a history of polls and of the log is in the order of its times",
    kept_by("commit_log_incarnations.Lineage._is_polled", false_for(1), seed(9, "polls")),
    "polls tell nothing of a cluster's clock",
    kept_by("replay.POLLED", -1_000, seed(146, "polls")),
    "a strategy answers no later than exact",
    kept_by("partition.translate_no_later", without.later_too, seed(1, "by_header,reorder,late")),
    "with --dry-run nothing is written",
    kept_by("offset_writer._Batch._try", setting(_Batch._try, dry_run=False), seed(3, "no_writes")),
)
