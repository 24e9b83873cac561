"""What keeps the promise when storage is shared, slow, full, set back, or loses power."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltalake.transaction import CommitProperties

from offset_sync.state.lease import Lease, unended
from protections.entry import kept_by, no, nothing, yes

_LEASE, _UNIT = "offset_sync.state.lease.", "tests/unit/"


def _length_used_at_once(lease: Lease, look: Callable[[Lease], None] = Lease._look) -> None:
    length_s = lease._length_s
    look(lease)
    if lease._length_s > length_s:
        lease._newer, lease._open_until = None, lease._now() + lease._length_s


def _length_used_unentered(lease: Lease, look: Callable[[Lease], None] = Lease._look) -> None:
    lease._length_s = 60.0
    look(lease)


def _no_time_for_a_check(lease: Lease, look_s: float, needed: Any = Lease._needed_s) -> float:
    length_s: float = needed(lease, look_s)
    lease._look_s = 0.0
    return length_s


PROTECTIONS = (
    # Several processes write one table at once, on S3 too.
    kept_by(
        "an append whose answer was lost is there once",
        "tables.table_log.TableLog._is_entered",
        no,
        "tables/test_append.py::test_an_append_whose_answer_was_lost_is_there_once",
    ),
    kept_by(
        "the loser of a race between writers decides again",
        "tables.table_log.TableLog._was_overtaken",
        no,
        "tables/test_append.py::test_what_was_changed_between_the_look_and_the_entry_does_not_stop_it",
    ),
    kept_by(
        "two removals of the same files do not both go through",
        "tables.table_log.CommitProperties",
        lambda **named: CommitProperties(**{**named, "max_commit_retries": 15}),
        "tables/test_append.py::test_of_two_removals_of_the_same_files_by_one_look_only_one_goes_through",
    ),
    kept_by(
        "a file that maintenance may have deleted gets no entry",
        "tables.table_log.Change.is_stale",
        no,
        "tables/test_append.py::test_a_file_that_is_too_old_gets_no_entry_for_maintenance_may_take_it",
    ),
    kept_by(
        "a driver that could overwrite the entries of others does not start",
        "tables.storage_check._is_one_lost",
        no,
        "tables/test_create.py::test_a_server_that_accepts_two_entries_of_one_number_is_refused",
    ),
    # A request to the storage of the tables takes seconds.
    kept_by(
        "a claim lasts four checks where the storage is slow",
        "state.lease._LOOKS",
        1.5,
        "state/test_lease.py::test_on_slow_storage_a_claim_is_longer_and_its_driver_writes",
    ),
    kept_by(
        "a new driver waits for all claims before its own that have not ended",
        "state.lease.unended",
        lambda *claims, _all=unended: _all(*claims)[-1:],
        "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
    ),
    kept_by(
        "a greater length counts only for checks that began after its entry",
        "state.lease.Lease._look",
        _length_used_at_once,
        "state/test_lease.py::test_what_a_claim_or_a_look_sees_is_as_old_as_its_beginning",
    ),
    kept_by(
        "a greater length that could not be entered is not used",
        "state.lease.Lease._look",
        _length_used_unentered,
        "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
    ),
    kept_by(
        "the next check begins two checks before the end of the last one",
        "state.lease.Lease._needed_s",
        _no_time_for_a_check,
        "state/test_lease.py::test_a_watched_lease_looks_before_it_ends_so_that_it_is_open_all_the_time",
    ),
    kept_by(
        "check warns of a slow storage",
        "jobs.check._SLOW_S",
        float("inf"),
        "jobs/test_check_command.py::test_a_place_elsewhere_is_left_as_it_was_and_is_a_warning_where_it_is_slow",
    ),
    # A checkpoint is an older copy, or an append is missing.
    kept_by(
        "records that a checkpoint which was set back has passed over count as unread",
        "state.index_logs.with_gaps",
        lambda rows, _frontier: rows,
        "ingest/test_record_indexer.py::test_a_checkpoint_that_was_set_back_leaves_no_record_out_without_a_trace",
    ),
    kept_by(
        "a micro-batch records where it began",
        "ingest.batch_rows.BEGINS",
        -2,
        "ingest/test_record_indexer.py::test_a_micro_batch_that_was_passed_over_is_unread_by_everyone",
    ),
    # Tables or checkpoints are of another format.
    kept_by(
        "tables of another format are refused",
        "tables.table_log.check_table",
        nothing,
        "tables/test_format.py::test_tables_of_another_format_are_neither_read_nor_written[1]",
    ),
    kept_by(
        "checkpoints without a format are refused",
        "tables.format._JOBS",
        "none",
        "tables/test_format.py::test_checkpoints_of_another_format_are_refused[None]",
    ),
    # last_known is unreadable, or newer than a restored table.
    kept_by(
        "what last_known is based on is compared with the tables",
        "state.last_known.LastKnown._entries",
        lambda _last_known, versions: ["any"] * len(versions),
        "state/test_last_known.py::"
        "test_what_does_not_fit_is_not_believed_and_replaced[a table that was set back has another entry]",
    ),
    kept_by(
        "last_known is not used where a commit arrived late",
        "state.last_known._is_later",
        yes,
        "state/test_last_known.py::test_a_commit_that_arrives_late_counts_in_its_place",
    ),
    # The power fails.
    kept_by(
        "an entry that a power failure has emptied is removed, and its append repeated",
        "tables.store.repair_log",
        no,
        "tables/test_power_failure.py::test_an_append_whose_entry_was_not_stored_comes_again_and_is_there_once",
    ),
    kept_by(
        "an empty entry before others is refused by name",
        "tables.log_repair._damaged",
        lambda _table: [],
        "tables/test_power_failure.py::test_an_entry_before_others_is_refused_by_name_with_the_remedy",
    ),
    kept_by(
        "a plan is on the disk before any row is written by it",
        "tables.files.Files.sync",
        nothing,
        "ingest/test_checkpoint.py::test_a_plan_is_stored_before_anything_is_done_by_it",
    ),
    kept_by(
        "a plan that a power failure has emptied is planned again under another name",
        "ingest.checkpoint.Checkpoint._rename",
        nothing,
        "ingest/test_checkpoint.py::test_a_plan_that_was_not_stored_is_planned_again_under_another_name",
    ),
    # The disk is full.
    kept_by(
        "an append that found no room comes again once",
        "tables.transaction_log.Version.has_written",
        no,
        "tables/test_power_failure.py::"
        "test_an_append_that_finds_no_room_at_any_of_its_writes_is_an_error_and_comes_again_once",
    ),
    kept_by(
        "the folder that is full is named",
        "ingest.query_errors._is_full",
        no,
        "ingest/test_failing_batches.py::test_the_folder_that_is_full_is_named_and_no_other",
    ),
)
