"""Invariants 1 to 10 of docs/design.md: what a patch can take out of each, and the test that notices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from offset_sync.model.values import ABSENT
from offset_sync.tables.catalog import RECORD_RUNS
from protections import invariant_patches as without
from protections.entry import Protection, Seed, kept_by, no, nothing

_MATCHES = "state.own_writes.OwnWrites._matches"
_SPLIT = "state.incarnations.split_by_incarnation"
_LATE = "sync/test_reconciler_left_behind.py"
_OWN = (
    "state/test_own_writes.py::test_whatever_happens_to_writes_those_pending_are_those_of_a_ledger_kept_write_by_write"
)
_SEARCH = "tests/search/test_ownership.py::test_every_short_history_is_right[shape0-5]"
_RETENTION = (
    "translate/test_index_retention_laws.py::test_every_live_commit_has_the_answer_of_brute_force_over_the_whole_index"
)


BY_NUMBER: dict[int, tuple[Protection, ...]] = {
    1: (
        kept_by(
            "the record at an answer is not read",
            "translate.read_window.first_unread",
            lambda required, committed: required.searchsorted(committed, "right"),
            "translate/test_exact_cases.py::test_answers[between reordered records the one not read is answered]",
        ),
        kept_by(
            "a record of unknown identity is unread",
            "translate.pieces._malformed",
            without.read_by_all,
            "translate/test_exact_cases.py::test_answers[an unreadable record of the target is unread by everyone]",
        ),
        kept_by(
            "a hole that may still be filled is unread",
            "translate.read_window.cut_pieces",
            without.cut_as_if_old,
            "translate/test_exact_cases.py::test_a_young_hole_is_unread_because_the_record_may_only_be_pending",
        ),
    ),
    2: (
        kept_by(
            "a micro-batch says how far it has read, in the append of its runs",
            "ingest.record_indexer.coverage",
            lambda *_read: RECORD_RUNS.no_rows,
            "ingest/test_record_indexer.py::test_a_micro_batch_becomes_runs_and_the_edges_of_what_was_read",
        ),
        kept_by(
            "a log that cannot be read on ends where it stopped",
            "ingest.unreadable_logs.UnreadableLogs.note",
            nothing,
            "ingest/test_unreadable_logs.py"
            "::test_a_log_that_stopped_is_left_out_of_later_plans_and_read_from_there_after_a_restart",
        ),
        kept_by(
            "offsets between two appends that do not continue each other are unread",
            "state.index_logs.with_gaps",
            without.first_argument,
            "state/test_record_index.py::test_what_is_between_two_queries_counts_as_unread_by_all_groups",
        ),
    ),
    3: (
        kept_by(
            "an append of the same query and batch is there once",
            "tables.transaction_log.Version.has_written",
            no,
            "tables/test_append.py::test_a_version_of_a_writer_is_appended_once_be_it_its_first",
        ),
        kept_by(
            "a new checkpoint appends under a new id",
            "ingest.record_indexer.RecordIndexer._writer",
            lambda _indexer, batch_id: ("index_records", batch_id),
            "ingest/test_record_indexer.py::test_a_new_checkpoint_writes_again",
        ),
        kept_by(
            "a row that is there twice changes no answer",
            "translate.index.runs.Runs.without_repeats",
            without.first_argument,
            "state/test_record_index.py::test_what_is_between_two_queries_counts_as_unread_by_all_groups",
        ),
    ),
    4: (
        kept_by(
            "a topic's id is recorded before its first run",
            "ingest.record_indexer.RecordIndexer._record_incarnations",
            nothing,
            "ingest/test_record_indexer.py::test_a_topic_created_again_is_recorded_beside_its_first_life",
        ),
        kept_by(
            "a log with another leader, or a shorter one, is asked where the epoch before has ended",
            "ingest.incarnation_check.IncarnationCheck._is_questionable",
            no,
            "ingest/test_incarnation_check.py"
            "::test_a_log_that_was_cut_and_has_grown_past_its_old_end_is_read_again_from_the_cut",
        ),
        kept_by(
            "copies of truncated records have an origin of their own",
            "state.incarnations.split_by_incarnation",
            without.as_if_of_the_present,
            Seed(frozenset({"third_anew"}), 40),
        ),
        kept_by(
            "a copy that may be of either incarnation is unread",
            _SPLIT,
            without.as_if_none_were_late,
            Seed(frozenset({"third_anew"}), 40),
        ),
        kept_by(
            "the index drops what a truncation has taken",
            "translate.index.incarnations.true_below",
            lambda indexed_at_ms, _incarnations: np.full(len(indexed_at_ms), np.iinfo(np.int64).max),
            "translate/index/test_incarnations.py::"
            "test_of_a_log_all_below_each_later_beginning_is_valid_and_copies_above_are_lost_unless_it_was_recreated[1]",
        ),
        kept_by(
            "commits that __consumer_offsets has lost are dropped",
            "state.commit_log_incarnations.Places.gone_ms",
            lambda _places, rows: np.full(rows.num_rows, ABSENT),
            "ingest/test_commit_log_check.py"
            "::test_a_key_that_the_new_log_does_not_have_has_no_offset_and_its_genuine_commit_still_counts",
        ),
    ),
    5: (
        kept_by(
            "an offset that we do not expect at the target is left alone",
            "sync.offset_writer.decide",
            nothing,
            "sync/test_offset_writer.py::test_only_the_value_that_is_expected_is_overwritten_and_anothers_forward_only",
        ),
        kept_by(
            "another client's offset is moved forward only",
            "sync.write_plan.rules",
            lambda actual_offset, *_told: np.zeros(len(actual_offset), np.intp),
            _SEARCH,
        ),
        kept_by(
            "a write says which offset we expect at the target",
            "sync.write_plan.OffsetWrite",
            without.expecting_nothing,
            "sync/test_write_plan.py::test_each_row_is_planned_by_the_rules_for_one",
        ),
    ),
    6: (
        kept_by("a commit of another value than we wrote is the group's", _MATCHES, without.matches_whatever, _OWN),
        kept_by("our commits are known in the order of our writes", _MATCHES, without.matches_in_any_order, _OWN),
        kept_by("a write of ours explains one commit", _MATCHES, without.matches_again_and_again, _OWN),
        kept_by(
            "while two clusters are active nothing is written",
            "state.group_homes.homes",
            without.never_contested,
            _SEARCH,
        ),
    ),
    7: (
        kept_by(
            "no commit waits for the history of translations",
            "sync.translation_history.TranslationHistory.append",
            without.append_at_once,
            "sync/test_translation_history.py"
            "::test_recording_never_waits_and_rows_that_wait_or_could_not_be_appended_are_appended_together",
        ),
        kept_by(
            "a micro-batch whose commits are not in the history is read again",
            "jobs.sync_batch.ThreadPoolExecutor",
            without.Unseen,
            "ingest/test_commit_ingester.py"
            "::test_a_batch_whose_history_could_not_be_written_says_the_same_when_it_comes_again",
        ),
        kept_by(
            "a micro-batch that is repeated after a crash is in the history once",
            "ingest.commit_ingester.Ingester._writer",
            nothing,
            "ingest/test_commit_ingester.py::test_a_repeated_batch_reconciles_again_and_is_written_once",
        ),
        kept_by(
            "a micro-batch does not wait for a direction that was left behind",
            "sync.reconciler.DirectionQueue.is_late",
            False,
            f"{_LATE}::test_micro_batches_wait_once_for_a_target_that_hangs_and_then_go_on_without_it",
        ),
        kept_by(
            "the first pass after a start reads every target",
            "sync.reconciler.Selection",
            without.UnsettledOnly,
            "sync/test_reconciler_passes.py"
            "::test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know",
        ),
    ),
    8: (
        kept_by(
            "until every log is read commits are only recorded",
            "jobs.sync_batch.SyncBatch.__call__",
            without.take_in_as_if_ready,
            "ingest/test_commit_ingester.py::test_until_every_log_is_read_commits_are_only_remembered",
        ),
        kept_by(
            "while a log cannot be read the commits of others wait",
            "state.group_homes.UnreadLogs.may_count",
            lambda _logs, _source, rows, _is_answered: np.ones(len(rows), np.bool_),
            Seed(frozenset({"unreadable"}), 53),
        ),
        kept_by(
            "while a log cannot be read new commits of others count",
            "state.group_homes.UnreadLogs.note_brought",
            nothing,
            "sync/test_reconciler_passes.py::test_a_commit_made_before_our_eyes_counts_so_a_failover_goes_on",
        ),
    ),
    9: (
        kept_by(
            "two directions to a target do not write at once",
            "sync.reconciliation.threading",
            SimpleNamespace(Lock=without.OpenLock),
            f"{_LATE}::test_while_a_direction_writes_to_a_target_no_other_one_does",
        ),
        kept_by(
            "an answer is not written once its commit is no longer the last one",
            "sync.reconciliation.ReconcilePass._still_due",
            without.all_of_them,
            "sync/test_reconciler_passes.py::test_a_newer_commit_during_our_query_is_left_to_its_own_pass",
        ),
        kept_by(
            "a direction does one pass at a time",
            "sync.reconciler.DirectionQueue.submit",
            without.begin_at_once,
            "sync/test_direction_queue.py"
            "::test_requests_during_a_pass_are_done_together_and_all_callers_get_the_result",
        ),
    ),
    10: (
        kept_by(
            "the index keeps what a group that can still commit has not read",
            "translate.index_retention._read_by_all",
            lambda _target, floor, *_rest: floor,
            _RETENTION,
        ),
        kept_by(
            "the index keeps what shows that other logs' records are read",
            "translate.index_retention._kept_for",
            lambda *_told: 1 << 62,
            "translate/test_index_retention_laws.py::"
            "test_what_each_log_has_to_keep[Z0:3 X3:9-? Z0:3 X3:9-starts2-99-begins2-0.0]",
        ),
        kept_by(
            "an index that was cut begins at a row",
            "translate.index_retention.IndexedLog.row_at",
            lambda _log, offset: offset,
            _RETENTION,
        ),
    ),
}
PROTECTIONS: tuple[Protection, ...] = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
