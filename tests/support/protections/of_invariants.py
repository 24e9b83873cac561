"""The invariants of docs/design.md: what a patch can take out of each, and the test that notices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from offset_sync.model.values import ABSENT, OffsetWrite
from offset_sync.status.reporter import _known
from offset_sync.sync.offset_writer import _Batch
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.translate.pieces import cut_pieces
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections import invariant_patches as without
from protections.entry import (
    Protection,
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
    told,
    true_for,
    yes,
)

BY_NUMBER = dict[int, tuple[Protection, ...]]()
BY_NUMBER[1] = protections(
    "the record at an answer is not read",
    kept_by(
        "read_window.first_unread",
        lambda required, committed: required.searchsorted(committed, "right"),
        "exact_cases answers[between reordered records the one not read is answered]",
    ),
    "a record of unknown identity is unread",
    kept_by(
        "pieces._malformed",
        without.read_by_all,
        "exact_cases answers[an unreadable record of the target is unread by everyone]",
    ),
    "a hole that may still be filled is unread",
    kept_by("read_window.cut_pieces", as_if(cut_pieces, 2, NEVER_YOUNG), "exact_cases a_young_hole_is_unread"),
)
BY_NUMBER[2] = protections(
    "a micro-batch says how far it has read, in the append of its runs",
    kept_by("record_indexer.coverage", lambda *_read: RECORD_RUNS.no_rows, seed(25, "second")),
    "a log that cannot be read on ends where it stopped",
    kept_by("unreadable_logs.UnreadableLogs.note", nothing, "checkpoint a_log_that_stopped_is"),
    "offsets between two appends that do not continue each other are unread",
    kept_by("index_logs.with_gaps", given(0), "record_index what_is_between_two_queries"),
)
BY_NUMBER[3] = protections(
    "an append of the same query and batch is there once",
    kept_by("transaction_log.Version.has_written", no, "append what_was_acknowledged_is_there[7]"),
    "a new checkpoint appends under a new id",
    kept_by(
        "record_indexer.RecordIndexer._writer",
        lambda _indexer, batch_id: ("index_records", batch_id),
        "record_indexer a_new_checkpoint_writes_again",
    ),
    "a row that is there twice changes no answer",
    kept_by("runs.Runs.without_repeats", given(0), "record_index what_is_between_two_queries"),
)
BY_NUMBER[4] = protections(
    "a topic's id is recorded before its first run",
    kept_by("incarnation_log.IncarnationLog.write", nothing, "record_indexer killed_at_any_point_and[record_runs]"),
    "a log with another leader, or a shorter one, is asked where the epoch before has ended",
    kept_by("incarnation_check.IncarnationCheck._is_questionable", no, "incarnation_check a_cut_that_was_not[False]"),
    "copies of truncated records are unread",
    kept_by("run_cuts.RowCutter._number", without.cut_by("origin"), seed(29, "third_anew")),
    "a copy that may be of either incarnation is unread",
    kept_by("incarnation_check.IncarnationCheck.unsettled", gives({}), seed(40, "third_anew")),
    "the index drops what a truncation has taken",
    kept_by("run_cuts.RowCutter._number", without.cut_by("cluster"), "run_cuts from_the_cut_on[1]"),
    "commits that __consumer_offsets has lost are dropped",
    kept_by("commit_log_incarnations.Lineage.gone_ms", lambda _, rows: np.full(len(rows), ABSENT), seed(0, "shrink")),
)
BY_NUMBER[5] = protections(
    "an offset that we do not expect at the target is left alone",
    kept_by("offset_writer.decide", nothing, "offset_writer only_the_value_that_is"),
    "another client's offset is moved forward only",
    kept_by("write_plan.is_theirs", lambda _there, key: np.zeros(len(key), np.bool_), "ownership every[shape0-5]"),
    "a write says which offset we expect at the target",
    kept_by("write_plan.OffsetWrite", told(OffsetWrite, expected_offset=None), "write_plan each_row_is_planned_by"),
)
BY_NUMBER[6] = protections(
    "a commit of another value than we wrote is the group's",
    kept_by("own_writes.OwnWrites._is_ours", without.matches_whatever, "own_writes whatever_happens_to_writes_those"),
    "our commits are known in the order of our writes",
    kept_by("own_writes.OwnWrites._is_ours", without.matches_in_any_order, "own_writes whatever_happens_to_writes"),
    "a write of ours explains one commit",
    kept_by("own_writes.OwnWrites._is_ours", without.matches_again_and_again, "own_writes whatever_happens_to_writes"),
    "while two clusters are active nothing is written",
    kept_by("state.group_homes.homes", without.never_contested, "ownership every_short_history_is_right[shape0-5]"),
)
BY_NUMBER[7] = protections(
    "no commit waits for the history of translations",
    kept_by("translation_history.TranslationHistory.append", without.append_at_once, "translation_history recording"),
    "a micro-batch whose commits are not in the history is read again",
    kept_by(
        "commit_ingester.CommitIngester.write", without.written_unseen, "commit_ingester a_batch_whose_history_could"
    ),
    "a micro-batch that is repeated after a crash is in the history once",
    kept_by("commit_ingester.Ingester._writer", nothing, "commit_ingester a_repeated_batch_reconciles_again"),
    "a micro-batch does not wait for a direction that was left behind",
    kept_by(
        "reconciler.Reconciler.reconcile_batch",
        without.handed_over_and_waited_for,
        "reconciler_left_behind no_micro_batch_waits_for",
    ),
    "no commit waits for the tables",
    kept_by(
        "reconciler.Reconciler.reconcile_batch",
        without.by_the_newest_index,
        "reconciler_left_behind a_commit_waits_for_no_table",
    ),
    "what waited for the index is reconciled when it has grown",
    kept_by(
        "reconciler.Reconciler.reconcile_waiting_for_index", nothing, "reconciler_left_behind a_commit_waits_for_no"
    ),
    "also what a pass leaves waiting in whose midst it has grown",
    kept_by("reconciler.Reconciler._submit", without.what_waits_now, "reconciler_left_behind an_index_that_grows_in"),
    "the first pass after a start reads every target",
    kept_by("reconciler.Selection", without.UnsettledOnly, "reconciler_passes the_first_pass_asks_about"),
)
BY_NUMBER[8] = protections(
    "until the index is read once nothing is reconciled",
    kept_by("record_index.RecordIndex.is_loaded", True, "home_watch nothing_is_reconciled_before_the"),
    "until every log is read commits are only recorded",
    kept_by("sync_batch.SyncBatch.__call__", without.take_in_as_if_ready, "commit_ingester until_every_log_is_read"),
    "a micro-batch that was planned before the start is not the end of the log",
    kept_by("query_supervisor._is_of_before", no, "query_supervisor a_query_has_caught_up_when[query2-False]"),
    "the first micro-batch of a query may be as old as its log",
    kept_by("sync_batch.SyncBatch.note_start", nothing, "commit_ingester the_first_micro_batch_of"),
    "while a log cannot be read the commits of others wait",
    kept_by("state.group_homes.UnreadLogs.may_count", true_for(2), seed(53, "unreadable")),
    "while a log cannot be read new commits of others count",
    kept_by("state.group_homes.UnreadLogs.note_brought", nothing, "reconciler_passes a_commit_made_before_our"),
)
BY_NUMBER[9] = protections(
    "two directions to a target do not write at once",
    kept_by("reconciliation.threading", SimpleNamespace(Lock=without.OpenLock), "reconciler_left_behind while_a"),
    "an answer is not written once its commit is no longer the last one",
    kept_together(
        {"reconciliation.ReconcilePass._still_due": given(3), "write_plan._is_raised_by_ours": false_for(1)},
        "reconciler_passes a_newer_commit_during_our",
    ),
    "a direction does one pass at a time",
    kept_by("direction_queue.DirectionQueue.ask", without.begin_at_once, "direction_queue requests_during_a_pass_are"),
)
BY_NUMBER[10] = protections(
    "the index keeps what a group that can still commit has not read",
    kept_by("translate.index_retention._read_by_all", given(1), "index_retention_laws every_live_commit_has_the"),
    "the index keeps what shows that other logs' records are read",
    kept_by(
        "translate.index_retention._kept_for",
        lambda *_told: 1 << 62,
        "index_retention_laws what_each_log_has_to_keep[Z0:3 X3:9-? Z0:3 X3:9-starts2-99-begins2]",
    ),
    "an index that was cut begins at a row",
    kept_by("translate.index_retention.IndexedLog.page_at", given(1), "index_retention_laws every_live_commit_has_the"),
)
BY_NUMBER[11] = protections(
    "a group whose records are not all mirrored is not in sync",
    kept_by("assessment._mirroring", lambda row: row["still_skips"], "classify what_the_mirror_has_left_to_do_is_said"),
    "a group with a commit that is not captured is not in sync",
    kept_by("assessment._behind", nothing, "held_offsets a_commit_that_is_not"),
    "a group whose next records differ on both sides is not in sync",
    kept_by("status.reporter.needs_comparison", no, "classify another"),
    "a third cluster that holds a commit no verdict knows of keeps a group from being in sync",
    kept_by("status.reporter._unexpected", gives({}), "held_offsets a_commit_at_a_third_cluster_that"),
    "a third cluster that holds a commit and has no verdict keeps a group from being in sync",
    kept_by(
        "status.reporter._known",
        lambda verdict: _known(verdict) if verdict else {None, *range(99)},
        "held_offsets a_commit_at_a_third_cluster_of",
    ),
    "records that are not indexed keep a group from being in sync",
    kept_by(
        "replication_gap._beyond_index",
        lambda _source, left, _end: np.zeros_like(left),
        "status_oracle every_number_of_a_report",
    ),
    "a group whose answer has changed since it was published is not in sync",
    kept_by("status.reporter.answers_now", given(1), "verdicts a_record_that_came_late"),
    "the verdict of a driver that is not alive is not shown",
    kept_by("live_state.is_living", yes, "verdicts only_a_living_driver_is_read"),
    "a home that a group has left is not shown",
    kept_by("reconciliation.ReconcilePass._tell_gone", nothing, "translation_history a_home_that_the_group"),
)
BY_NUMBER[12] = protections(
    "what a driver has seen of its lease is valid for a moment",
    kept_by("lease.Lease.is_open", lambda lease: lease._newer is None, "lease no_driver_writes_while_a"),
    "a driver that was taken over finds out before it writes",
    kept_by("lease.newer_than", nothing, "lease no_driver_writes_while_a"),
    "a driver that takes over waits as long as the one before may write",
    kept_by("lease.unended", gives([]), "lease no_driver_writes_while_a"),
    "a driver that was taken over enters nothing in the tables",
    kept_by("lease.Lease.renew", nothing, "lease who_was_taken_over_appends"),
    "each request is sent only while the lease is valid",
    kept_by(
        "offset_writer._Batch",
        lambda admin, fence, *others: _Batch(admin, SimpleNamespace(renew=fence.renew, is_open=yes), *others),
        "offset_writer a_pause_after_the_look",
    ),
)
BY_NUMBER[13] = protections(
    "rows are on the disk before their entry",
    kept_by("files.Files.sync", nothing, "append what_was_acknowledged_is_there[7]"),
    "the name of a new file is on the disk before its entry",
    kept_by("files.Files.sync_folders", nothing, "append a_table_its_columns_and"),
)
BY_NUMBER[14] = protections(
    "a part is a page unread only if it holds all that is there",
    kept_by(
        "index_start._LogStart._are_plain",
        lambda log: np.ones(len(log.parts), np.bool_),
        "record_index what_is_between_two_queries",
    ),
)
BY_NUMBER[15] = protections(
    "commits of an unknown version stop the query",
    kept_by("commit_ingester.UnknownVersions.check", nothing, "commit_ingester when_a_cluster_writes_a"),
)
BY_NUMBER[16] = protections(
    "a polled commit may be as old as its group's answer before",
    kept_by("polled_commits.CommitPoller._compare", without.as_new_as_the_poll, seed(0, "polls")),
    "a group that has not answered before may have committed at any time",
    kept_by("polled_commits.CommitPoller._compare", without.as_new_as_the_poll, seed(1, "polls")),
)
BY_NUMBER[17] = protections(
    "a group with offsets of a repartition topic is known to be an application",
    kept_by("live_clusters.LiveClusters.internal_topics", gives({}), "live_clusters an_application_has_offsets_of"),
    "a planned move of an application with a repartition topic is refused unless it is confirmed",
    kept_by("cutover.judge.Judge.internal_reasons", gives([]), "procedure an_application_with_a_repartition"),
)
BY_NUMBER[18] = protections(
    "what the log brings in a moment is no news of the coordinator",
    kept_by("polled_commits.CoordinatorCheck._not_in_the_log", given(1), "coordinator_check a_commit_between_the"),
    "what a coordinator holds counts where the log does not explain it",
    kept_by("polled_commits.CoordinatorCheck._not_in_the_log", gives([]), "coordinator_check after_a_comparison_what"),
    "an offset that a coordinator has no more is deleted only if its record is gone too",
    kept_by(
        "polled_commits.CoordinatorCheck._not_in_the_log", given(1), "coordinator_check an[by another coordinator]"
    ),
)
BY_NUMBER[19] = protections(
    "the home is the last step of a move",
    kept_by("procedure.CutoverProcedure._commit_and_read_back", without.home_first, "ends_of_apply a_group_of_which"),
    "what a move has committed is read back",
    kept_by("procedure.CutoverProcedure._read_back", gives(([], False)), "ends_of_apply a_group_of_which_anything"),
    "what a command was about to commit is ours",
    kept_by("moves._note_commits", nothing, "moves what_a_command_has_committed"),
)
BY_NUMBER[20] = protections(
    "two aliases are two clusters, each of the id that it had at first",
    kept_by("cluster_ids.refuse_other", nothing, "cluster_ids what_another_job_has_kept"),
    "a client that is led to another cluster is refused",
    kept_by("topic_requests.refuse_other", nothing, "other_clusters a_connected_client_that_is"),
    "what was read at another cluster does not count",
    kept_by("log_reader.refuse_other", nothing, "other_clusters what_a_consumer_has_read"),
)
PROTECTIONS = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
