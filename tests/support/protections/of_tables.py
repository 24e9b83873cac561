"""What keeps the promise when storage is shared, slow, full, set back, or loses power."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from offset_sync.state import seal
from offset_sync.state.lease import Lease
from offset_sync.tables import files
from offset_sync.tables.definition import Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.table_log import Change, TableLog
from protections.entry import gives, kept_by, kept_together, no, nothing, protections, yes


def _looks_once_it_is_closed(lease: Lease, watch: Callable[[Lease], None] = Lease.watch) -> None:
    look = lease._look
    lease._look = lambda: None if lease.is_open() else look()  # type: ignore[method-assign]
    watch(lease)


def _entered_unchecked(self: Maintainer, table: Table, removed: Any, into: Any, began_at: float, *, moves: Any) -> None:
    change = Change(into, removed, moves=moves, began_ms=int(began_at * 1000), fresh_seconds=self._keep.total_seconds())
    self._tables.log(table).commit(lambda _now: change)


def _never_refused(log: TableLog, now: Any, change: Any, mine: str, put: Any = TableLog._put) -> bool:
    put(log, now, change, mine)
    return True


def _named_first(path: Path, content: bytes, give_name: Any, write: Any = files._write_whole) -> None:
    write(path, b"", give_name)
    path.write_bytes(content)
    files.fsync(path)


def _cleaned_of_all(log: TableLog) -> None:
    with log._lock:
        log._checkpoint().vacuum(retention_hours=0, full=True, dry_run=False)


def _without_a_row(pieces: Any, portions: Any = seal._portions) -> Any:
    return (each.slice(0, max(1, each.num_rows - 1)) for each in portions(pieces))


def _moved_uncounted(self: Maintainer, table: Table, old: Any, new: Any, began_at: float) -> None:
    self._enter(table, old, new, began_at, moves=True)


def _checkpoint_unstored(log: TableLog) -> DeltaTable:
    table = log._opened()
    table.create_checkpoint()
    return table


PROTECTIONS = protections(
    # Several processes write one table at once, on S3 too.
    "an append whose answer was lost is there once",
    kept_by("table_log.TableLog._is_entered", no, "append an_append_whose_answer_was"),
    "the loser of a race between writers decides again",
    kept_by("table_log.TableLog._put", _never_refused, "append what_was_changed_between_the"),
    "two removals of the same files do not both go through",
    kept_by("files.os.link", os.replace, "append what_was_acknowledged_is_there[7]"),
    "a version that was known long ago is not built on",
    kept_by("table_log.TableLog._known", lambda log: log._now or log._open(), "append a_process_that_was_away"),
    "an entry that took long to put is not taken for the newest",
    kept_by("table_log.TableLog._age_seconds", gives(0.0), "append an_entry_that_took_long"),
    "a table that another tool has given features is not written",
    kept_by(
        "transaction_log._WRITABLE", {"appendOnly", "changeDataFeed", "invariants"}, "append a_table_with_a_feature"
    ),
    "a change of files is decided by those that there are then",
    kept_by("maintenance.Maintainer._enter", _entered_unchecked, "append what_was_acknowledged_is_there[7]"),
    "a maintained table keeps for a while what its readers may need",
    kept_by("table_log.TableLog.clean_up", _cleaned_of_all, "append what_was_acknowledged_is_there[7]"),
    "a file is sealed only if it has all rows of those that it replaces",
    kept_together(
        {"seal._portions": _without_a_row, "maintenance.Maintainer.move": _moved_uncounted},
        "append what_was_acknowledged_is_there[7]",
    ),
    "a file that maintenance may have deleted gets no entry",
    kept_by("table_log.Change.is_stale", no, "append a_file_that_is_too"),
    "a driver that could overwrite the entries of others does not start",
    kept_by("files._are_two_accepted", no, "create a_server_that_accepts_two"),
    # A request to the storage of the tables takes seconds.
    "a driver whose checks take seconds writes",
    kept_by("lease.FRESH_S", 2.0, "lease on_slow_storage_a_driver"),
    "a check that took longer than it is valid lets nothing through",
    kept_by("lease.Lease.is_open", yes, "lease on_storage_that_is_too_slow"),
    "the next check begins long before the end of the last one",
    kept_by("lease.Lease.watch", _looks_once_it_is_closed, "lease a_watched_lease_looks_before"),
    "check warns of a slow storage",
    kept_by("check._SLOW_S", float("inf"), "check_command a_place_elsewhere_is_left"),
    # A checkpoint is an older copy (see also of_processes), or an append is missing.
    "a micro-batch records where it began",
    kept_by("batch_rows.BEGINS", -2, "record_indexer a_micro_batch_that_was"),
    # Tables or checkpoints are of another format.
    "tables of another format are refused",
    kept_by("table_log.check_table", nothing, "create tables_of_another_format_are[the last]"),
    "checkpoints without a format are refused",
    kept_by("format._JOBS", "none", "create checkpoints_of_another_format_are[None]"),
    # last_known is unreadable, or newer than a restored table.
    "what last_known is based on is compared with the tables",
    kept_by(
        "last_known.LastKnown._entries",
        lambda _last_known, versions: ["any"] * len(versions),
        "last_known what_does_not_fit_is[a table that was set back has another entry]",
    ),
    "last_known is not used where a commit arrived late",
    kept_by("last_known._is_later", yes, "last_known a_commit_that_arrives_late"),
    # The power fails.
    "a checkpoint that a power failure has cut off is removed if the entries are there",
    kept_by("store.repair_log", no, "append a_checkpoint_is_not_removed"),
    "an entry is stored before it has its name",
    kept_by("files._write_whole", _named_first, "unit/tables/files a_file_is_stored_before"),
    "an entry is on the disk before a write returns, and before the next one",
    kept_by("table_log.TableLog._store", nothing, "append what_was_acknowledged_is_there[7]"),
    "a checkpoint is on the disk before the entries go that say the same",
    kept_by("table_log.TableLog._checkpoint", _checkpoint_unstored, "maintenance a_checkpoint_is_stored_before"),
    "a checkpoint stays where nothing else has its content",
    kept_by("log_repair._is_covered", yes, "append a_checkpoint_is_not_removed"),
    "a plan is on the disk before any row is written by it",
    kept_by("files.Files.sync", nothing, "checkpoint a_plan_is_stored_before"),
    "a plan that a power failure has emptied is planned again under another name",
    kept_by("checkpoint.Checkpoint._rename", nothing, "checkpoint a_plan_that_was_not"),
    # The disk is full: see also invariant 3.
    "the folder that is full is named",
    kept_by("query_errors._is_full", no, "query_supervisor the_folder_that_is_full"),
)
