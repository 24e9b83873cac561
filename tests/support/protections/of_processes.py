"""What keeps the promise when drivers and processes die, pause or meet another one."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.versions import Match
from offset_sync.state.group_homes import GroupHomes
from offset_sync.state.lease import Lease, OpenFence
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.offset_writer import TargetWriter, _Batch
from offset_sync.sync.reconciler import Reconciler
from offset_sync.tables.store import TableStore
from protections.entry import Seed, kept_by, nothing, yes

_LEASE, _UNIT = "offset_sync.state.lease.", "tests/unit/"


class _LookedAtOnce(OpenFence):
    """Its lease is checked before the target is read, and not again."""

    def __init__(self, fence: Any) -> None:
        fence.renew()


class _SendsAll(OpenFence):
    """Its lease is checked, and no request asks for the age of that."""

    def __init__(self, fence: Any) -> None:
        self.renew = fence.renew


def _with_fence(other: Callable[[Any], Any], try_once: Any = _Batch._try) -> Callable[..., None]:
    def tried(batch: _Batch, left: float, ends_at: float) -> None:
        fence, batch.fence = batch.fence, other(batch.fence)
        try:
            try_once(batch, left, ends_at)
        finally:
            batch.fence = fence

    return tried


def _look_until_its_end(lease: Lease, look: Callable[[Lease], None] = Lease._look) -> None:
    look(lease)
    lease._open_until = lease._now() + lease._length_s


def _claim_until_its_end(lease: Lease, *groups: Any, claim: Callable[..., None] = Lease.claim) -> None:
    claim(lease, *groups)
    lease._open_until = lease._now() + lease._length_s


class _AnyEpoch:
    """Tables that append a claim whatever its epoch."""

    def __init__(self, tables: Any) -> None:
        self.append = lambda table, rows, _writer: tables.append(table, rows)
        self.rows_since, self.path = tables.rows_since, tables.path


def _claim_by_any_epoch(lease: Lease, *groups: Any, claim: Callable[..., None] = Lease.claim) -> None:
    tables: Any = lease._tables
    lease._tables = _AnyEpoch(tables)
    try:
        claim(lease, *groups)
    finally:
        lease._tables = tables


def _recorded_unseen(state: SyncState, *given: Any, record: Any = SyncState.record, **named: Any) -> Any:
    with patch.object(state, "before_foreign", lambda: None):
        return record(state, *given, **named)


class _EachOfItsOwn:
    """numpy, by which no two commits are equal."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def unique(self, values: Any, axis: int | None = None) -> Any:
        return np.asarray(values) if axis == 1 else np.unique(values)


def _noted_for_ever(homes: GroupHomes, alias: str, *given: Any, note: Any = GroupHomes.note_members) -> None:
    before = homes._seen_ms[alias]
    note(homes, alias, *given)
    homes._seen_ms[alias] = before | homes._seen_ms[alias]


def _raised_at_once(_end: Any, number: int, _frame: Any) -> None:
    raise InterruptedError(number)


def _again_as_new(batch: SyncBatch, read: Any, record: Any = SyncBatch._record) -> Any:
    batch._last = None
    return record(batch, read)


PROTECTIONS = (
    # A driver is killed at any point.
    kept_by(
        "the runs of a micro-batch are those of its query and its number, of any driver and any executor",
        "ingest.record_indexer.RecordIndexer._writer",
        lambda _indexer, _batch_id: (uuid.uuid4().hex, 0),
        "ingest/test_record_indexer.py::test_killed_at_any_point_and_repeated_everything_is_there_once",
    ),
    kept_by(
        "a repeated micro-batch keeps the authors of its first try",
        "jobs.sync_batch.SyncBatch._record",
        _again_as_new,
        "ingest/test_commit_ingester.py::"
        "test_a_batch_whose_history_could_not_be_written_says_the_same_when_it_comes_again",
    ),
    kept_by(
        "the first pass after a start reads every target, settled or not",
        "sync.reconciler.Reconciler.reconcile_all",
        lambda reconciler, *, is_first=False, _all=Reconciler.reconcile_all: _all(reconciler),
        "sync/test_reconciler_passes.py::"
        "test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know",
    ),
    kept_by(
        "what a killed driver has written and not recorded is ours",
        "sync.left_writes.LeftWrites.of",
        lambda _left, _target, rows, *_commits: np.zeros(len(rows), np.bool_),
        "tests/search/test_ownership.py::test_every_short_history_is_right[shape1-5]",
    ),
    kept_by(
        "a recognised write ends those before it",
        "state.own_writes.OwnWrites.drop_inherited",
        nothing,
        "state/test_own_writes.py::test_an_unrecorded_write_that_was_recognised_ends_the_recorded_ones_before_it",
    ),
    # It is killed between a poll and its record.
    kept_by(
        "a poll is recorded by a number of its own, not by that of its micro-batch",
        "ingest.polled_commits.PollIngester._writer",
        lambda _ingester, batch: ("sync_offsets-polls", batch.batch_id),
        "ingest/test_polled_commits.py::test_a_repeated_micro_batch_of_the_next_driver_polls_again_and_loses_nothing",
    ),
    # A second driver starts, or a paused one wakes.
    kept_by(
        "each epoch is claimed once",
        "state.lease.Lease.claim",
        _claim_by_any_epoch,
        "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
    ),
    kept_by(
        "a check of the lease counts from its beginning",
        "state.lease.Lease._look",
        _look_until_its_end,
        "state/test_lease.py::test_what_a_claim_or_a_look_sees_is_as_old_as_its_beginning",
    ),
    kept_by(
        "a claim counts from before its append",
        "state.lease.Lease.claim",
        _claim_until_its_end,
        "state/test_lease.py::test_what_a_claim_or_a_look_sees_is_as_old_as_its_beginning",
    ),
    kept_by(
        "a driver that cannot read the claims writes nothing",
        "state.lease.Lease.renew",
        lambda lease: setattr(lease, "_open_until", float("inf")),
        "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
    ),
    kept_by(
        "a new driver writes once the last request of the one before has ended",
        "state.lease.SETTLE_S",
        0.0,
        "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
    ),
    kept_by(
        "the lease is checked after the target was read",
        "sync.offset_writer._Batch._try",
        _with_fence(_LookedAtOnce),
        Seed(frozenset({"pause", "second"}), 77),
    ),
    kept_by(
        "each request asks for the age of the check",
        "sync.offset_writer._Batch._try",
        _with_fence(_SendsAll),
        "sync/test_offset_writer.py::test_a_pause_after_the_look_lets_no_request_out_before_the_next_look",
    ),
    kept_by(
        "a task stops to write ten seconds after its start",
        "state.lease.TaskFence.is_open",
        yes,
        "state/test_lease.py::test_a_task_may_write_for_some_seconds_from_its_own_start",
    ),
    kept_by(
        "a table gets no entry of a driver that was taken over",
        "state.lease.FencedTables.__init__",
        lambda tables, root, _fence, files=None, names=None: TableStore.__init__(tables, root, files, names),
        "tables/test_append.py::test_a_driver_that_was_taken_over_appends_and_replaces_nothing",
    ),
    kept_by(
        "micro-batches that another driver took in are loaded before the next one",
        "ingest.commit_ingester.Ingester.restore_missed",
        lambda _ingester, _state, _batch_id: np.empty(0, np.intp),
        "ingest/test_commit_batches.py::test_records_between_two_batches_are_loaded_and_reconciled_with_the_next",
    ),
    kept_by(
        "a job that was taken over ends with 3",
        "model.errors.TakenOverError.exit_code",
        1,
        "jobs/test_runner.py::test_each_failure_is_one_line_whatever_it_names",
    ),
    # The JVM of a job dies; SIGTERM or SIGINT.
    kept_by(
        "a job whose JVM has died ends",
        "jobs.process_end.jvm_exit_code",
        lambda: None,
        "jobs/test_process_end.py::test_a_dead_jvm_is_noticed_while_the_job_waits",
    ),
    kept_by(
        "a signal interrupts nothing that a job has in hand",
        "jobs.process_end.ProcessEnd._on_signal",
        _raised_at_once,
        "jobs/test_runner.py::test_a_signal_asks_the_job_to_stop_and_interrupts_nothing",
    ),
    # A failed query's checkpoint moves on past a planned micro-batch.
    kept_by(
        "where a micro-batch does not go on from the one before, the records between count as unread",
        "state.index_logs.with_gaps",
        lambda rows, _frontier: rows,
        "ingest/test_record_indexer.py::test_a_micro_batch_that_was_passed_over_is_unread_by_everyone",
    ),
    # A micro-batch fails three times.
    kept_by(
        "the third failure of a micro-batch names its offsets and the record",
        "ingest.failing_batches.FailingBatches._tell",
        nothing,
        "ingest/test_failing_batches.py::test_the_third_failure_names_the_record_and_no_other_does",
    ),
    # cutover apply is refused, fails or is killed at any step.
    kept_by(
        "a commit of a move is in the table before it is sent",
        "cutover.session.CutoverWriter.write",
        lambda moving, writes: moving._writer.write(writes),
        "cutover/test_ends_of_apply.py::test_a_group_is_moved_as_long_as_no_other_command_has_claimed_it",
    ),
    kept_by(
        "the moves are read before a foreign commit is recorded",
        "state.sync_state.SyncState.record",
        _recorded_unseen,
        "state/test_moves.py::test_what_a_command_has_committed_is_ours_in_whatever_way_it_ended",
    ),
    kept_by(
        "of two commits of one value one may be that of a move, though the other is ours",
        "state.sync_state.np",
        _EachOfItsOwn(),
        "state/test_moves.py::test_a_commit_of_the_value_that_is_being_written_here_too_is_one_of_a_command",
    ),
    kept_by(
        "a command that was taken over commits nothing",
        "cutover.session.TargetWriter",
        lambda *given, **named: TargetWriter(*given, **{**named, "fence": OpenFence()}),
        "cutover/test_ends_of_apply.py::test_a_command_that_was_taken_over_moves_no_group",
    ),
    kept_by(
        "a command that was taken over records no home",
        "jobs.cutover.FencedTables",
        lambda root, _fence, *others: TableStore(root, *others),
        "jobs/test_cutover.py::test_groups_are_claimed_and_who_wrote_before_is_waited_for_before_they_are_moved",
    ),
    # Groups come and go for a year.
    kept_by(
        "groups whose members have left are forgotten after the silence",
        "state.group_homes.GroupHomes.note_members",
        _noted_for_ever,
        "state/test_home.py::test_homes_are_what_the_events_one_by_one_say",
    ),
    kept_by(
        "a start knows no group that is over",
        "state.last_known.is_over",
        lambda offsets, *_kept: np.zeros(len(offsets.keys), np.bool_),
        "state/test_last_known.py::"
        "test_a_group_that_is_gone_is_dropped_once_every_log_was_read_for_two_weeks_beyond_it",
    ),
    kept_by(
        "a driver with too many old keys restarts",
        "jobs.sync_offsets.WORTH_WHILE",
        1 << 62,
        "jobs/test_home_watch.py::test_it_is_over_when_most_keys_are",
    ),
    # A library or jar of another version.
    kept_by(
        "a jar of another version is refused",
        "spark.platform.match_version",
        lambda *_versions: Match.SAME,
        "spark/test_platform.py::test_every_jar_of_another_minor_version_is_refused",
    ),
)
