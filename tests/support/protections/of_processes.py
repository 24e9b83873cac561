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
from protections.entry import false_for, given, kept_by, nothing, protections, seed, setting, yes


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


def _raise(_end: Any, number: int, _frame: Any) -> None:
    raise InterruptedError(number)


PROTECTIONS = protections(
    {
        # A driver is killed at any point.
        "the runs of a micro-batch are those of its query and its number, of any driver and any executor": kept_by(
            "ingest.record_indexer.RecordIndexer._writer",
            lambda _indexer, _batch_id: (uuid.uuid4().hex, 0),
            "ingest/test_record_indexer.py killed_at_any_point",
        ),
        "a repeated micro-batch keeps the authors of its first try": kept_by(
            "jobs.sync_batch.SyncBatch._record",
            setting(SyncBatch._record, _last=None),
            "ingest/test_commit_ingester.py a_batch_whose_history",
        ),
        "the first pass after a start reads every target, settled or not": kept_by(
            "sync.reconciler.Reconciler.reconcile_all",
            lambda reconciler, *, is_first=False, _all=Reconciler.reconcile_all: _all(reconciler),
            "sync/test_reconciler_passes.py the_first_pass_asks",
        ),
        "what a killed driver has written and not recorded is ours": kept_by(
            "sync.left_writes.LeftWrites.of",
            false_for(2),
            "tests/search/test_ownership.py every_short_history_is_right[shape1-5]",
        ),
        "a recognised write ends those before it": kept_by(
            "state.own_writes.OwnWrites.drop_inherited",
            nothing,
            "state/test_own_writes.py an_unrecorded_write_that_was",
        ),
        # It is killed between a poll and its record.
        "a poll is recorded by a number of its own, not by that of its micro-batch": kept_by(
            "ingest.polled_commits.PollIngester._writer",
            lambda _ingester, batch: ("sync_offsets-polls", batch.batch_id),
            "ingest/test_polled_commits.py a_repeated_micro_batch",
        ),
        # A second driver starts, or a paused one wakes.
        "each epoch is claimed once": kept_by(
            "state.lease.Lease.claim", _claim_by_any_epoch, "state/test_lease.py no_driver_writes_while"
        ),
        "a check of the lease counts from its beginning": kept_by(
            "state.lease.Lease._look", _look_until_its_end, "state/test_lease.py what_a_claim_or"
        ),
        "a claim counts from before its append": kept_by(
            "state.lease.Lease.claim", _claim_until_its_end, "state/test_lease.py what_a_claim_or"
        ),
        "a driver that cannot read the claims writes nothing": kept_by(
            "state.lease.Lease.renew",
            lambda lease: setattr(lease, "_open_until", float("inf")),
            "state/test_lease.py no_driver_writes_while",
        ),
        "a new driver writes once the last request of the one before has ended": kept_by(
            "state.lease.SETTLE_S", 0.0, "state/test_lease.py no_driver_writes_while"
        ),
        "the lease is checked after the target was read": kept_by(
            "sync.offset_writer._Batch._try",
            _with_fence(_LookedAtOnce),
            seed(77, "pause", "second"),
        ),
        "each request asks for the age of the check": kept_by(
            "sync.offset_writer._Batch._try",
            _with_fence(_SendsAll),
            "sync/test_offset_writer.py a_pause_after_the_look",
        ),
        "a task stops to write ten seconds after its start": kept_by(
            "state.lease.TaskFence.is_open", yes, "state/test_lease.py a_task_may_write"
        ),
        "a table gets no entry of a driver that was taken over": kept_by(
            "state.lease.FencedTables.__init__",
            lambda tables, root, _fence, files=None, names=None: TableStore.__init__(tables, root, files, names),
            "tables/test_append.py a_driver_that_was",
        ),
        "micro-batches that another driver took in are loaded before the next one": kept_by(
            "ingest.commit_ingester.Ingester.restore_missed",
            lambda _ingester, _state, _batch_id: np.empty(0, np.intp),
            "ingest/test_commit_ingester.py records_between_two_batches",
        ),
        "a job that was taken over ends with 3": kept_by(
            "model.errors.TakenOverError.exit_code", 1, "jobs/test_runner.py each_failure_is_one"
        ),
        # The JVM of a job dies; SIGTERM or SIGINT.
        "a job whose JVM has died ends": kept_by(
            "jobs.process_end.jvm_exit_code", lambda: None, "jobs/test_process_end.py a_dead_jvm_is_noticed"
        ),
        "a signal interrupts nothing that a job has in hand": kept_by(
            "jobs.process_end.ProcessEnd._on_signal", _raise, "jobs/test_runner.py a_signal_asks_the_job"
        ),
        # A failed query's checkpoint moves on past a planned micro-batch.
        "where a micro-batch does not go on from the one before, the records between count as unread": kept_by(
            "state.index_logs.with_gaps", given(0), "ingest/test_record_indexer.py a_micro_batch_that_was"
        ),
        # A micro-batch fails three times.
        "the third failure of a micro-batch names its offsets and the record": kept_by(
            "ingest.failing_batches.FailingBatches._tell",
            nothing,
            "ingest/test_failing_batches.py the_third_failure_names",
        ),
        # cutover apply is refused, fails or is killed at any step.
        "a commit of a move is in the table before it is sent": kept_by(
            "cutover.session.CutoverWriter.write",
            lambda moving, writes: moving._writer.write(writes),
            "cutover/test_ends_of_apply.py a_group_is_moved",
        ),
        "the moves are read before a foreign commit is recorded": kept_by(
            "state.sync_state.SyncState.record", _recorded_unseen, "state/test_moves.py what_a_command_has"
        ),
        "of two commits of one value one may be that of a move, though the other is ours": kept_by(
            "state.sync_state.np", _EachOfItsOwn(), "state/test_moves.py a_commit_of_the_value"
        ),
        "a command that was taken over commits nothing": kept_by(
            "cutover.session.TargetWriter",
            lambda *given, **named: TargetWriter(*given, **{**named, "fence": OpenFence()}),
            "cutover/test_ends_of_apply.py a_command_that_was",
        ),
        "a command that was taken over records no home": kept_by(
            "jobs.cutover.FencedTables",
            lambda root, _fence, *others: TableStore(root, *others),
            "jobs/test_cutover.py groups_are_claimed_and_who",
        ),
        # Groups come and go for a year.
        "groups whose members have left are forgotten after the silence": kept_by(
            "state.group_homes.GroupHomes.note_members",
            _noted_for_ever,
            "state/test_home.py homes_are_what_the_events",
        ),
        "a start knows no group that is over": kept_by(
            "state.last_known.is_over",
            lambda offsets, *_kept: np.zeros(len(offsets.keys), np.bool_),
            "state/test_last_known.py a_group_that_is_gone",
        ),
        "a driver with too many old keys restarts": kept_by(
            "jobs.sync_offsets.WORTH_WHILE", 1 << 62, "jobs/test_home_watch.py it_is_over_when"
        ),
        # A library or jar of another version.
        "a jar of another version is refused": kept_by(
            "spark.platform.match_version", lambda *_versions: Match.SAME, "spark/test_platform.py every_jar_of_another"
        ),
    }
)
