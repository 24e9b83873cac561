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
from offset_sync.state.lease import FRESH_S, Lease, OpenFence
from offset_sync.state.noted_writes import NotedWrites
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.offset_writer import TargetWriter, _Batch
from offset_sync.sync.reconciler import Reconciler
from offset_sync.tables.store import TableStore
from protections.entry import given, gives, kept_by, nothing, protections, seed, setting, told, yes


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


def _counted_from_its_end(real: Callable[..., None]) -> Callable[..., None]:
    def counted(lease: Lease, *groups: Any) -> None:
        real(lease, *groups)
        lease._open_until = lease._now() + FRESH_S

    return counted


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


def _noted_in_one_file(noted: NotedWrites, target: str, note: Any = NotedWrites.note) -> None:
    noted._epoch = 1
    note(noted, target)


PROTECTIONS = protections(
    # A driver is killed at any point.
    "the runs of a micro-batch are those of its query and its number, of any driver and any executor",
    kept_by("record_indexer.RecordIndexer._writer", lambda *_of: (uuid.uuid4().hex, 0), "record_indexer killed_at_any"),
    "a repeated micro-batch keeps the authors of its first try",
    kept_by("sync_batch.SyncBatch._record", setting(SyncBatch._record, _last=None), "commit_ingester a_batch_whose"),
    "the first pass after a start reads every target, settled or not",
    kept_by(
        "reconciler.Reconciler.reconcile_all", told(Reconciler.reconcile_all, is_first=False), "reconciler_passes the"
    ),
    "what a killed driver has written and not recorded is ours",
    kept_by("search.driver.inherit_writes", nothing, "ownership every_short_history_is_right[shape1-5]"),
    "a write is noted before it is sent, by whatever driver",
    kept_by("own_writes.OwnWrites.unrecorded", gives([]), seed(4, "crash")),
    "what a killed driver has noted explains no later commit of the group",
    kept_by("own_writes._ARRIVES_MS", 10**15, "own_writes a_write_in_doubt_explains"),
    "a write stays noted until its record is in offset_commits",
    kept_by("own_writes.OwnWrites.note_recorded", nothing, "own_writes a_noted_write_that_is"),
    "a driver that was taken over replaces no writes that the next one has noted",
    kept_by("noted_writes.NotedWrites.note", _noted_in_one_file, "noted_writes each_driver_replaces_its"),
    # It is killed between a poll and its record.
    "a poll is recorded by a number of its own, not by that of its micro-batch",
    kept_by(
        "polled_commits.PollIngester._writer",
        lambda _ingester, batch: ("sync_offsets-polls", batch.batch_id),
        "commit_ingester a_repeated_micro_batch_of",
    ),
    # A second driver starts, or a paused one wakes.
    "each epoch is claimed once",
    kept_by("lease.Lease.claim", _claim_by_any_epoch, "lease no_driver_writes_while_a"),
    "a check of the lease counts from its beginning",
    kept_by("lease.Lease._look", _counted_from_its_end(Lease._look), "lease what_a_claim_or_a"),
    "a claim counts from before its append",
    kept_by("lease.Lease.claim", _counted_from_its_end(Lease.claim), "lease what_a_claim_or_a"),
    "a driver that cannot read the claims writes nothing",
    kept_by("lease.Lease.renew", lambda lease: setattr(lease, "_open_until", float("inf")), "lease no_driver_writes"),
    "a new driver writes once the last request of the one before has ended",
    kept_by("lease.SETTLE_S", 0.0, "lease no_driver_writes_while_a"),
    "the lease is checked after the target was read",
    kept_by("offset_writer._Batch._try", _with_fence(_LookedAtOnce), seed(85, "pause,second")),
    "each request asks for the age of the check",
    kept_by("offset_writer._Batch._try", _with_fence(_SendsAll), "offset_writer a_pause_after_the_look"),
    "a task stops to write ten seconds after its start",
    kept_by("lease.TaskFence.is_open", yes, "lease a_task_may_write_for"),
    "a table gets no entry of a driver that was taken over",
    kept_by(
        "lease.FencedTables.__init__",
        lambda tables, root, _fence, files=None, names=None: TableStore.__init__(tables, root, files, names),
        "append a_driver_that_was_taken",
    ),
    "micro-batches that another driver took in are loaded before the next one",
    kept_by("commit_ingester.Ingester.restore_missed", gives(np.empty(0, np.intp)), "commit_ingester records_between"),
    "a job that was taken over ends with 3",
    kept_by("errors.TakenOverError.exit_code", 1, "runner each_failure_is_one_line"),
    # The JVM of a job dies; SIGTERM or SIGINT.
    "a job whose JVM has died ends",
    kept_by("process_end.jvm_exit_code", lambda: None, "process_end a_dead_jvm_is_noticed"),
    "a signal interrupts nothing that a job has in hand",
    kept_by("process_end.ProcessEnd._on_signal", _raise, "runner a_signal_asks_the_job"),
    # A failed query's checkpoint moves on past a planned micro-batch.
    "where a micro-batch does not go on from the one before, the records between count as unread",
    kept_by("index_logs.with_gaps", given(0), "record_indexer a_micro_batch_that_was"),
    # A micro-batch fails three times.
    "the third failure of a micro-batch names its offsets and the record",
    kept_by("failing_batches.FailingBatches._tell", nothing, "query_supervisor the_third_failure_names_the"),
    # cutover apply is refused, fails or is killed at any step.
    "a commit of a move is in the table before it is sent",
    kept_by("journal.CutoverWriter.write", lambda self, each: self._writer.write(each), "ends_of_apply a_group_is"),
    "the moves are read before a foreign commit is recorded",
    kept_by("sync_state.SyncState.record", _recorded_unseen, "moves what_a_command_has_committed"),
    "of two commits of one value one may be that of a move, though the other is ours",
    kept_by("sync_state.np", _EachOfItsOwn(), "moves a_commit_of_the_value"),
    "a command that was taken over commits nothing",
    kept_by("journal.TargetWriter", told(TargetWriter, fence=OpenFence()), "ends_of_apply a_command_that_was_taken"),
    "a home that was left is told again after a command has answered it",
    kept_by("last_translations.LastTranslations.tell_again", nothing, "moves a_home_that_is_left"),
    "a command that was taken over records no home",
    kept_by("cutover.FencedTables", lambda root, _fence, *others: TableStore(root, *others), "cutover groups_are"),
    # Groups come and go for a year.
    "groups whose members have left are forgotten after the silence",
    kept_by("state.group_homes.GroupHomes.note_members", _noted_for_ever, "home homes_are_what_the_events"),
    "a start knows no group that is over",
    kept_by("last_known.is_over", lambda offsets, *_kept: np.zeros(len(offsets.keys), np.bool_), "last_known a_group"),
    "a driver with too many old keys restarts",
    kept_by("sync_offsets.WORTH_WHILE", 1 << 62, "home_watch it_is_over_when_most"),
    # A library or jar of another version.
    "a jar of another version is refused",
    kept_by("platform.match_version", lambda *_versions: Match.SAME, "platform every_jar_of_another_minor"),
)
