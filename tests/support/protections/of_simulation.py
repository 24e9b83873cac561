"""What the simulation notices: each protection with the seed whose history breaks the promise without it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fakes.unchecked import UncheckedLogs
from offset_sync.ingest.polled_commits import CommitPoller
from offset_sync.model.values import ABSENT
from offset_sync.state.group_homes import Activity, Homes, homes
from offset_sync.state.own_writes import OwnWrites
from offset_sync.sync.offset_writer import _Batch
from offset_sync.translate.exact import Answers, needs_of_unindexed, translate_no_later
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections.entry import Protection, Seed, kept_by, no, nothing, yes

_STATE, _INGEST, _TRANSLATE = "offset_sync.state.", "offset_sync.ingest.", "offset_sync.translate."
_POLLED, _LISTS = _INGEST + "polled_commits.", "offset_sync.sync.read_lists.ReadLists."
_begin, _poll, _try = OwnWrites.begin, CommitPoller.poll, _Batch._try


def _as_chosen(committed: Any, chosen: Any, *of_logs: Any) -> Answers:
    answers = translate_no_later(committed, chosen, *of_logs)
    offset = np.where(chosen >= 0, chosen, answers.offset)
    is_too_late = np.zeros(len(offset), np.bool_)
    return answers._replace(offset=offset, clamped_offset=offset, is_too_late=is_too_late)


def _try_as_if_it_were_to_write(batch: Any, left: float, ends_at: float) -> None:
    batch.dry_run = False
    _try(batch, left, ends_at)


def _begin_and_keep(writes: Any, key: NDArray[np.intp], offset: NDArray[np.int64]) -> None:
    vars(writes).setdefault("ever", set()).update(zip(key.tolist(), offset.tolist(), strict=True))
    _begin(writes, key, offset)


def _claim_whatever_was_written(writes: Any, key: NDArray[np.intp], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    ever = vars(writes).get("ever", set())
    return np.array([pair in ever for pair in zip(key.tolist(), offset.tolist(), strict=True)], np.bool_)


def _newest_wins(activity: Activity, now_ms: int, _silence_ms: int, _uncertain_ms: Any = None) -> Homes:
    return homes(activity, now_ms, 0)


def _never_contested(activity: Activity, now_ms: int, silence_ms: int, _uncertain_ms: Any = None) -> Homes:
    found = homes(activity, now_ms, silence_ms)
    return found._replace(is_contested=np.zeros(len(found.home), np.bool_))


def _claim_nothing(_writes: Any, key: NDArray[np.intp], _offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.zeros(len(key), np.bool_)


def _newer_by_offset(offsets: Any, records: Any) -> Any:
    return records.log_offset > offsets.columns["log_offset"][records.key]


class _Always(dict[str, int]):
    """Says of every group that it answered then."""

    def __init__(self, at_ms: int) -> None:
        super().__init__()
        self._at_ms = at_ms

    def get(self, _group: Any, _absent: Any = None) -> Any:
        return self._at_ms

    def __contains__(self, _group: object) -> bool:
        return True

    def __getitem__(self, _group: str) -> int:
        return self._at_ms


def _poll_as_if_all_had_answered(poller: Any) -> Any:
    began_ms, found = poller._state.now_ms(), _poll(poller)
    poller._answered_ms = _Always(began_ms)
    return found


def _dated_by_the_poll(activity: Activity, *times: Any) -> Homes:
    return homes(activity._replace(since_ms=activity.committed_ms), *times)


def _seed(seed: int, *faults: str, steps: int = 400) -> Seed:
    return Seed(frozenset(faults), seed, steps)


PROTECTIONS = (
    kept_by(
        "a hole ages only while the index keeps up",
        "state.translator.watched_until_ms",
        lambda _log, _log_end, now_ms: now_ms,
        _seed(18, "late"),
    ),
    kept_by(
        "an index that grows may still be behind",
        "ingest.log_check.Completeness.of",
        lambda _known, _read, ends, asked_at: dict.fromkeys(ends, asked_at),
        _seed(183, "late", "backlog"),
    ),
    kept_by(
        "lives of logs are told apart",
        "ingest.incarnation_check.IncarnationCheck._rows",
        lambda _check, *_said: ([], 0),
        _seed(42, "third_anew"),
    ),
    Protection(
        "leader epochs are compared",
        (
            (_INGEST + "incarnation_check.IncarnationCheck._is_questionable", no),
            (_STATE + "checked_metadata.CheckedMetadata._changes", lambda *_said: {}),
        ),
        _seed(4, "cut_grows"),
    ),
    kept_by(
        "leader epochs are compared before each translation",
        "state.checked_metadata.CheckedMetadata._changes",
        lambda *_said: {},
        _seed(161, "cut_grows"),
    ),
    kept_by(
        "answers at a target that was cut end at the cut",
        "translate.index.log_index.LogIndex.below",
        lambda log, _offset: log,
        _seed(78, "cut_grows"),
    ),
    kept_by(
        "records that an election has lost are not what was read",
        "state.translator.of_lost_records",
        lambda given, _ends: np.full(len(given.offset), ABSENT),
        _seed(0, "elected"),
    ),
    kept_by(
        "copies that a cut has taken are unread",
        "translate.index.log_index.LogIndex.lose",
        nothing,
        _seed(120, "cut_grows"),
    ),
    kept_by(
        "holes below an index that began late are read with the next record only",
        "translate.partition.needs_of_unindexed",
        lambda source, target, bounds: needs_of_unindexed(source, target, bounds) - 1,
        _seed(47, "late_index", "drop"),
    ),
    kept_by(
        "below an index that began late there may be copies that a cut has taken, or of a former life",
        "translate.exact._may_differ",
        lambda first_runs, *_known: np.zeros(len(first_runs), np.bool_),
        _seed(5322, "late_index", "cut_grows", steps=600),
    ),
    kept_by(
        "the first own record of an index that began late may be a copy that came back",
        "translate.exact._is_echo",
        lambda first_runs, _origin: np.zeros(len(first_runs), np.bool_),
        _seed(226, "late_index", "echo"),
    ),
    kept_by(
        "our clock may be ahead of the index's",
        "state.cluster_clock.ClockOffset.at_most",
        lambda _clock: 0,
        _seed(15, "clocks", "late"),
    ),
    kept_by(
        "a truncation of __consumer_offsets is noticed",
        "ingest.commit_log_check.CommitLogCheck.look",
        lambda _check, _id: UncheckedLogs().look(_id),
        _seed(0, "shrink"),
    ),
    kept_by(
        "a log that could not be read at the start may have a newer commit",
        "state.group_homes.UnreadLogs.may_count",
        lambda _logs, _source, rows, _answered: rows >= 0,
        _seed(53, "unreadable"),
    ),
    kept_by(
        "a commit that some cluster has is not forgotten",
        "simulation.persisted.is_over",
        lambda offsets, _kept_ms: (offsets.column("is_deleted") != 0).any(axis=0),
        _seed(201, "expire", "crash"),
    ),
    kept_by(
        "a driver that was taken over writes nothing",
        "state.lease.Lease.is_open",
        yes,
        _seed(77, "second", "pause"),
    ),
    kept_by(
        "what another driver took in is read",
        "simulation.persisted.Persisted.restore_between",
        lambda *_arguments: np.empty(0, np.intp),
        _seed(57, "second", "pause"),
    ),
    kept_by("a hole is on no list", "translate.read_list._HOLES_ARE_UNREAD", NEVER_YOUNG, _seed(4, "lists", "drop")),
    kept_by(
        "a list is of a leader epoch",
        "simulation.skipping.is_skipped",
        lambda _world, _where, found, offset: found and offset in found.listed,
        _seed(79, "lists", "cut_grows"),
    ),
    kept_by(
        "a rewind that is noted after a list was planned takes it away",
        "sync.read_lists.ReadLists._rewinds",
        lambda _lists, _row: (0,),
        _seed(52, "lists", "reset", "pause"),
    ),
    kept_by(
        "what was set back elsewhere is not listed there",
        "state.sync_state.SyncState._is_back_elsewhere",
        lambda _state, _alias, rows: np.zeros(len(rows), np.bool_),
        _seed(5207, "lists", "drop", "reorder", "reset", steps=600),
    ),
    Protection(
        "a second record of our value is the group's own",
        (
            (_STATE + "own_writes.OwnWrites.begin", _begin_and_keep),
            (_STATE + "own_writes.OwnWrites.claim", _claim_whatever_was_written),
        ),
        _seed(1, "moves"),
    ),
    kept_by("our own commits are known", "state.own_writes.OwnWrites.claim", _claim_nothing, _seed(0, "moves")),
    kept_by(
        "records of different partitions have no order by offset",
        "state.committed_offsets.ClusterOffsets._is_newer",
        _newer_by_offset,
        _seed(35, "coordinators"),
    ),
    kept_by(
        "clusters' clocks are not believed",
        "state.cluster_clock.ClusterClock.made_ms",
        lambda _clock, timestamp_ms, _read: timestamp_ms,
        _seed(0, "skewed"),
    ),
    kept_by(
        "what a clock was measured to be counts for a backlog",
        "state.cluster_clock.ClusterClock.ahead_ms",
        None,
        _seed(1, "skewed"),
    ),
    kept_by("a home that is not silent stays the home", "state.group_homes.homes", _newest_wins, _seed(1, "twins")),
    kept_by(
        "two clusters that are active have no home", "state.group_homes.homes", _never_contested, _seed(1, "twins")
    ),
    kept_by("times that are near each other have no order", "state.group_homes.UNCERTAIN_MS", -1, _seed(1, "twins")),
    kept_by("members count as active", "state.group_homes.GroupHomes.note_members", nothing, _seed(2, "tools")),
    kept_by("cutover decides", "state.group_homes.GroupHomes.note_moves", nothing, _seed(14, "moves")),
    kept_by(
        "what we wrote at a home raises nothing elsewhere",
        "sync.write_plan._is_raised_by_ours",
        lambda _mine, key, *_told: np.zeros(len(key), np.bool_),
        _seed(330, "retention", "reset", "late_index", "drop", "resend", steps=600),
    ),
    kept_by(
        "at home what the coordinator holds counts",
        "state.committed_offsets.ClusterOffsets.position",
        lambda offsets, rows: (offsets.columns["genuine_offset"][rows], offsets.columns["genuine_at_ms"][rows]),
        _seed(554, "moves"),
    ),
    kept_by(
        "a polled commit is as old as the last answer of its own group",
        "ingest.polled_commits.CommitPoller.poll",
        _poll_as_if_all_had_answered,
        _seed(17, "polls"),
    ),
    kept_by(
        "a driver that starts knows of recorded polls only",
        "ingest.polled_commits.CommitPoller._recorded_ms",
        lambda poller: _Always(poller._state.now_ms()),
        _seed(0, "polls"),
    ),
    kept_by(
        "a polled commit may have been made at any time of an interval",
        "state.group_homes.homes",
        _dated_by_the_poll,
        _seed(7, "polls"),
    ),
    kept_by(
        "our own writes are known among what is polled",
        "state.own_writes.OwnWrites.claim",
        _claim_nothing,
        _seed(1, "polls"),
    ),
    kept_by(
        "what coordinators do not hold any more was deleted",
        "ingest.polled_commits.CommitPoller._held",
        lambda _poller: {},
        _seed(1, "polls"),
    ),
    kept_by("all groups have to answer at first", "ingest.polled_commits.TransientError", KeyError, _seed(0, "polls")),
    kept_by(
        "polls and records of the log have no order by offset",
        "state.committed_offsets.ClusterOffsets._is_newer",
        _newer_by_offset,
        _seed(2, "polls"),
    ),
    kept_by(
        "a history of polls and of the log is in the order of its times",
        "state.commit_log_incarnations.Places._is_polled",
        lambda _places, rows: np.zeros(rows.num_rows, np.bool_),
        _seed(9, "polls"),
    ),
    kept_by("polls tell nothing of a cluster's clock", "state.restore.POLLED", -1_000, _seed(2, "polls")),
    kept_by(
        "a strategy answers no later than exact",
        "translate.partition.translate_no_later",
        _as_chosen,
        _seed(1, "by_header", "reorder", "late"),
    ),
    kept_by(
        "with --no-writes nothing is written",
        "sync.offset_writer._Batch._try",
        _try_as_if_it_were_to_write,
        _seed(1, "no_writes"),
    ),
)
