"""Recreated topics and truncated logs: for each fault of docs/reliability.md what protects, taken out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd
from offset_sync.tables.catalog import RECREATED, TRUNCATED
from protections.entry import absent_for, changed, false_for, given, gives, kept_by, no, nothing, protections, seed


def _without(reason: str, real: Any = IncarnationCheck._rows) -> Any:
    def rows(check: Any, *asked: Any) -> Any:
        found, reach = real(check, *asked)
        return [each for each in found if each.reason != reason], reach

    return rows


PROTECTIONS = protections(
    {
        "A recreated topic is noticed by its id": kept_by(
            "ingest.incarnation_check.IncarnationCheck._rows",
            _without(RECREATED),
            seed(0, "shrink"),
        ),
        "A truncated log is noticed by where its last epoch ended": kept_by(
            "ingest.incarnation_check.IncarnationCheck._rows",
            _without(TRUNCATED),
            seed(10, "cut_grows"),
        ),
        "A log with a new incarnation is read again, also by the next driver": kept_by(
            "ingest.incarnation_log.IncarnationLog.unread",
            gives({}),
            "ingest/test_incarnation_check.py an_incarnation_that_begins",
        ),
        "A commit made before its log was truncated or recreated is withheld": kept_by(
            "state.translator.of_former_incarnations",
            absent_for(0),
            "sync/test_reconciler_withheld.py a_commit_that_names",
        ),
        "Rows of an earlier incarnation are no part of the index": kept_by(
            "state.incarnations.KnownIncarnations.live",
            lambda _known, _log, rows, _edges: (rows.length, rows),
            seed(42, "third_anew"),
        ),
        "Copies of an earlier incarnation have an origin of their own": kept_by(
            "state.incarnations.KnownIncarnations._told_apart", given(2), seed(40, "third_anew")
        ),
        "What was read of a leader above the end of its epoch is read again": kept_by(
            "ingest.incarnation_check.IncarnationCheck.elected_since",
            gives({}),
            "ingest/test_incarnation_check.py records_that_a_leader",
        ),
        "An old epoch counts at most to where a known later one began": kept_by(
            "model.values.EpochChange.end",
            lambda _change, reported, _epoch: ReportedEnd(reported, True),
            "kafka/test_leader_epochs.py records_end_where_a_known[epoch 2 began below]",
        ),
        "A target that was truncated at an unknown offset is withheld": kept_by(
            "model.values.EpochChange.end",
            changed(EpochChange.end, is_certain=True),
            "state/test_checked_metadata.py a_log_is_cut",
        ),
        "A commit whose last record an election has lost is withheld by its leader epoch": kept_by(
            "state.translator.of_lost_records",
            absent_for(0),
            seed(0, "elected"),
        ),
        "Copies that a truncation has removed are unread until the mirror has copied them again": kept_by(
            "translate.index.log_index.LogIndex.lose", nothing, seed(120, "cut_grows")
        ),
        "Below an index that began late there may be copies that the source has lost": kept_by(
            "translate.exact._may_differ", false_for(0), "translate/test_partition.py copies_that_a_cut"
        ),
        "A new incarnation and its rows become visible together": kept_by(
            "state.record_index.RecordIndex._incarnations_after",
            lambda index, _rows: (index._incarnations.caught_up(index._tables)[0], set()),
            seed(161, "cut_grows"),
        ),
        "An answer about a leader is refused where another query has recorded the next one meanwhile": kept_by(
            "ingest.incarnation_check._epoch_of", nothing, "ingest/test_incarnation_check.py two_queries_that_ask"
        ),
        "A cluster's answer from before another query noticed a change is asked for again": kept_by(
            "ingest.incarnation_check.IncarnationCheck._refuse_overtaken",
            nothing,
            "ingest/test_incarnation_check.py what_a_cluster_said",
        ),
        "A driver that was paused sees which leaders another driver has recorded": kept_by(
            "ingest.incarnation_log.IncarnationLog.is_behind",
            no,
            "ingest/test_incarnation_check.py what_a_driver_that_woke",
        ),
        "A broker that does not lead any more is not believed": kept_by(
            "kafka.leader_epochs._BY", re.compile("()$"), "kafka/test_leader_epochs.py the_leader_under_the_present"
        ),
        "A truncated __consumer_offsets is read again from where it differs": kept_by(
            "ingest.commit_log_check.CommitLogCheck.look",
            changed(CommitLogCheck.look, again={}, whole=frozenset()),
            "ingest/test_commit_ingester.py one_that_was_cut",
        ),
        "Acknowledged writes of ours are uncertain under a new leader until they are read back": kept_by(
            "ingest.commit_log_check.CommitLogCheck.look",
            changed(CommitLogCheck.look, is_certain=True),
            "ingest/test_commit_ingester.py one_that_was_cut",
        ),
        "What only a coordinator has counts": kept_by(
            "ingest.polled_commits.CoordinatorCheck.poll",
            gives([]),
            "ingest/test_coordinator_check.py what_the_log_has",
        ),
        "A coordinator's offset counts only where the log does not explain it": kept_by(
            "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
            lambda _check, found, _read_to: list(found),
            "ingest/test_coordinator_check.py an_offset_that_is_gone[by another coordinator]",
        ),
        "What a lost source has said of its log still holds": kept_by(
            "state.last_translations.SourceMemory.reasons",
            lambda *given: np.full(len(given[3][0]), ABSENT, np.intp),
            "sync/test_reconciler_what_sources_said.py it_holds_for_what",
        ),
        "A commit beyond the end of a lost source stays withheld whatever happens at the target": kept_by(
            "state.last_translations.SourceMemory.reasons",
            lambda *given: np.full(len(given[3][0]), ABSENT, np.intp),
            "sync/test_reconciler_what_sources_said.py it_holds_for_what[nothing-12-COMMIT_BEYOND_END-False]",
        ),
        "A commit beyond the end is released once the index has read its log so far": kept_by(
            "state.last_translations._valid_states",
            lambda pair, key, _log: pair["state"][key],
            "status/test_offset_translation.py a_log_that_was",
        ),
        "A given offset above all that is known of a lost source is withheld": kept_by(
            "status.kept_offsets.OffsetTranslation._beyond_all_known",
            absent_for(3),
            "status/test_offset_translation.py above_all_that_is_known",
        ),
        "A given offset that may be of an earlier incarnation is withheld unless its time proves it valid": kept_by(
            "state.translator.of_former_incarnations",
            absent_for(0),
            "status/test_offset_translation.py an_offset_that_may",
        ),
    }
)
