"""Invariants 1 to 10 of docs/design.md: what a patch can take out of each, and the test that notices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from offset_sync.model.values import ABSENT, OffsetWrite
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.translate.index.incarnations import split_by_incarnation
from offset_sync.translate.pieces import cut_pieces
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections import invariant_patches as without
from protections.entry import as_if, false_for, given, kept_by, kept_together, no, nothing, protections, seed, true_for

BY_NUMBER = {
    1: protections(
        {
            "the record at an answer is not read": kept_by(
                "translate.read_window.first_unread",
                lambda required, committed: required.searchsorted(committed, "right"),
                "translate/test_exact_cases.py answers[between reordered records the one not read is answered]",
            ),
            "a record of unknown identity is unread": kept_by(
                "translate.pieces._malformed",
                without.read_by_all,
                "translate/test_exact_cases.py answers[an unreadable record of the target is unread by everyone]",
            ),
            "a hole that may still be filled is unread": kept_by(
                "translate.read_window.cut_pieces",
                as_if(cut_pieces, 2, NEVER_YOUNG),
                "translate/test_exact_cases.py a_young_hole_is_unread",
            ),
        }
    ),
    2: protections(
        {
            "a micro-batch says how far it has read, in the append of its runs": kept_by(
                "ingest.record_indexer.coverage",
                lambda *_read: RECORD_RUNS.no_rows,
                seed(25, "second"),
            ),
            "a log that cannot be read on ends where it stopped": kept_by(
                "ingest.unreadable_logs.UnreadableLogs.note",
                nothing,
                "ingest/test_unreadable_logs.py a_log_that_stopped",
            ),
            "offsets between two appends that do not continue each other are unread": kept_by(
                "state.index_logs.with_gaps",
                given(0),
                "state/test_record_index.py what_is_between_two",
            ),
        }
    ),
    3: protections(
        {
            "an append of the same query and batch is there once": kept_by(
                "tables.transaction_log.Version.has_written",
                no,
                "tables/test_any_history.py what_was_acknowledged_is_there[0]",
            ),
            "a new checkpoint appends under a new id": kept_by(
                "ingest.record_indexer.RecordIndexer._writer",
                lambda _indexer, batch_id: ("index_records", batch_id),
                "ingest/test_record_indexer.py a_new_checkpoint_writes",
            ),
            "a row that is there twice changes no answer": kept_by(
                "translate.index.runs.Runs.without_repeats",
                given(0),
                "state/test_record_index.py what_is_between_two",
            ),
        }
    ),
    4: protections(
        {
            "a topic's id is recorded before its first run": kept_by(
                "ingest.record_indexer.RecordIndexer._record_incarnations",
                nothing,
                "ingest/test_record_indexer.py killed_at_any_point",
            ),
            "a log with another leader, or a shorter one, is asked where the epoch before has ended": kept_by(
                "ingest.incarnation_check.IncarnationCheck._is_questionable",
                no,
                seed(35, "cut_grows"),
            ),
            "copies of truncated records have an origin of their own": kept_by(
                "state.incarnations.split_by_incarnation",
                lambda copies, *_known: (copies, np.zeros(len(copies), np.int64)),
                seed(40, "third_anew"),
            ),
            "a copy that may be of either incarnation is unread": kept_by(
                "state.incarnations.split_by_incarnation",
                lambda copies, lives, _from: split_by_incarnation(copies, lives, [0] * len(lives)),
                seed(40, "third_anew"),
            ),
            "the index drops what a truncation has taken": kept_by(
                "translate.index.incarnations.true_below",
                lambda indexed_at_ms, _incarnations: np.full(len(indexed_at_ms), np.iinfo(np.int64).max),
                "translate/index/test_incarnations.py of_a_log_all[1]",
            ),
            "commits that __consumer_offsets has lost are dropped": kept_by(
                "state.commit_log_incarnations.Places.gone_ms",
                lambda _places, rows: np.full(rows.num_rows, ABSENT),
                seed(0, "shrink"),
            ),
        }
    ),
    5: protections(
        {
            "an offset that we do not expect at the target is left alone": kept_by(
                "sync.offset_writer.decide", nothing, "sync/test_offset_writer.py only_the_value_that_is_expected"
            ),
            "another client's offset is moved forward only": kept_by(
                "sync.write_plan.rules",
                lambda actual_offset, *_told: np.zeros(len(actual_offset), np.intp),
                "tests/search/test_ownership.py every_short_history_is_right[shape0-5]",
            ),
            "a write says which offset we expect at the target": kept_by(
                "sync.write_plan.OffsetWrite",
                lambda **given: OffsetWrite(**given | {"expected_offset": None}),
                "sync/test_write_plan.py each_row_is_planned",
            ),
        }
    ),
    6: protections(
        {
            "a commit of another value than we wrote is the group's": kept_by(
                "state.own_writes.OwnWrites._matches",
                without.matches_whatever,
                "state/test_own_writes.py whatever_happens_to_writes",
            ),
            "our commits are known in the order of our writes": kept_by(
                "state.own_writes.OwnWrites._matches",
                without.matches_in_any_order,
                "state/test_own_writes.py whatever_happens_to_writes",
            ),
            "a write of ours explains one commit": kept_by(
                "state.own_writes.OwnWrites._matches",
                without.matches_again_and_again,
                "state/test_own_writes.py whatever_happens_to_writes",
            ),
            "while two clusters are active nothing is written": kept_by(
                "state.group_homes.homes",
                without.never_contested,
                "tests/search/test_ownership.py every_short_history_is_right[shape0-5]",
            ),
        }
    ),
    7: protections(
        {
            "no commit waits for the history of translations": kept_by(
                "sync.translation_history.TranslationHistory.append",
                without.append_at_once,
                "sync/test_translation_history.py recording_never_waits_and_rows",
            ),
            "a micro-batch whose commits are not in the history is read again": kept_by(
                "jobs.sync_batch.ThreadPoolExecutor",
                without.Unseen,
                "ingest/test_commit_ingester.py a_batch_whose_history",
            ),
            "a micro-batch that is repeated after a crash is in the history once": kept_by(
                "ingest.commit_ingester.Ingester._writer",
                nothing,
                "ingest/test_commit_ingester.py a_repeated_batch_reconciles",
            ),
            "a micro-batch does not wait for a direction that was left behind": kept_by(
                "sync.reconciler.DirectionQueue.is_late",
                False,
                "sync/test_reconciler_left_behind.py micro_batches_wait_once",
            ),
            "the first pass after a start reads every target": kept_by(
                "sync.reconciler.Selection", without.UnsettledOnly, "sync/test_reconciler_passes.py the_first_pass_asks"
            ),
        }
    ),
    8: protections(
        {
            "until every log is read commits are only recorded": kept_by(
                "jobs.sync_batch.SyncBatch.__call__",
                without.take_in_as_if_ready,
                "ingest/test_commit_ingester.py until_every_log_is_read",
            ),
            "while a log cannot be read the commits of others wait": kept_by(
                "state.group_homes.UnreadLogs.may_count", true_for(2), seed(53, "unreadable")
            ),
            "while a log cannot be read new commits of others count": kept_by(
                "state.group_homes.UnreadLogs.note_brought",
                nothing,
                "sync/test_reconciler_passes.py a_commit_made_before",
            ),
        }
    ),
    9: protections(
        {
            "two directions to a target do not write at once": kept_by(
                "sync.reconciliation.threading",
                SimpleNamespace(Lock=without.OpenLock),
                "sync/test_reconciler_left_behind.py while_a_direction_writes",
            ),
            "an answer is not written once its commit is no longer the last one": kept_together(
                {
                    "sync.reconciliation.ReconcilePass._still_due": given(3),
                    "sync.write_plan._is_raised_by_ours": false_for(1),
                },
                "sync/test_reconciler_passes.py a_newer_commit_during",
            ),
            "a direction does one pass at a time": kept_by(
                "sync.reconciler.DirectionQueue.submit",
                without.begin_at_once,
                "sync/test_direction_queue.py requests_during_a_pass",
            ),
        }
    ),
    10: protections(
        {
            "the index keeps what a group that can still commit has not read": kept_by(
                "translate.index_retention._read_by_all",
                given(1),
                "translate/test_index_retention_laws.py every_live_commit_has",
            ),
            "the index keeps what shows that other logs' records are read": kept_by(
                "translate.index_retention._kept_for",
                lambda *_told: 1 << 62,
                "translate/test_index_retention_laws.py what_each_log_has_to_keep"
                "[Z0:3 X3:9-? Z0:3 X3:9-starts2-99-begins2-0.0]",
            ),
            "an index that was cut begins at a row": kept_by(
                "translate.index_retention.IndexedLog.row_at",
                given(1),
                "translate/test_index_retention_laws.py every_live_commit_has",
            ),
        }
    ),
}
PROTECTIONS = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
