"""Recreated topics and truncated logs: for each fault of docs/reliability.md what protects, taken out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd
from offset_sync.tables.catalog import RECREATED, TRUNCATED
from protections.entry import Protection, Seed, kept_by, no, nothing

_INGEST, _STATE, _TRANSLATE = "offset_sync.ingest.", "offset_sync.state.", "offset_sync.translate."
_CHECK = _INGEST + "incarnation_check.IncarnationCheck."
_KNOWN = _STATE + "incarnations.KnownIncarnations."
_TESTS = "tests/unit/"


def _without(reason: str, real: Any = IncarnationCheck._rows) -> Any:
    def rows(check: Any, *asked: Any) -> Any:
        found, reach = real(check, *asked)
        return [each for each in found if each.reason != reason], reach

    return rows


def _none(given: Any, *_rest: Any) -> Any:
    return np.full(len(given.offset), ABSENT, np.intp)


def _no_reason(_memory: Any, _partition: Any, _keys: Any, commits: Any, _log: Any) -> Any:
    return np.full(len(commits[0]), ABSENT, np.intp)


def _as_reported(_change: Any, reported: int, _epoch: int) -> ReportedEnd:
    return ReportedEnd(reported, True)


def _certain(change: Any, reported: int, epoch: int, real: Any = EpochChange.end) -> ReportedEnd:
    return real(change, reported, epoch)._replace(is_certain=True)


def _nothing_again(check: Any, batch_id: int, real: Any = CommitLogCheck.look) -> Any:
    return real(check, batch_id)._replace(again={}, whole=frozenset())


def _without_rebuilding(index: Any, _rows: Any) -> Any:
    return index._incarnations.caught_up(index._tables)[0], set()


def _certain_of_writes(check: Any, batch_id: int, real: Any = CommitLogCheck.look) -> Any:
    return real(check, batch_id)._replace(is_certain=True)


PROTECTIONS: tuple[Protection, ...] = (
    kept_by(
        "A recreated topic is noticed by its id",
        "ingest.incarnation_check.IncarnationCheck._rows",
        _without(RECREATED),
        "ingest/test_incarnation_check.py::test_an_origin_that_was_recreated_is_noticed_with_its_first_copy",
    ),
    kept_by(
        "A truncated log is noticed by where its last epoch ended",
        "ingest.incarnation_check.IncarnationCheck._rows",
        _without(TRUNCATED),
        "ingest/test_incarnation_check.py::"
        "test_a_log_that_was_cut_and_has_grown_past_its_old_end_is_read_again_from_the_cut",
    ),
    kept_by(
        "A log with a new incarnation is read again, also by the next driver",
        "ingest.incarnation_log.IncarnationLog.unread",
        lambda _log, _alias: {},
        "ingest/test_incarnation_check.py::"
        "test_an_incarnation_that_begins_while_the_one_before_is_read_again_is_read_too",
    ),
    kept_by(
        "A commit made before its log was truncated or recreated is withheld",
        "state.translator.of_former_incarnations",
        _none,
        "sync/test_reconciler_withheld.py::"
        "test_a_commit_that_names_the_topic_of_a_log_that_was_cut_may_still_be_older_than_the_cut",
    ),
    kept_by(
        "Rows of an earlier incarnation are no part of the index",
        "state.incarnations.KnownIncarnations.live",
        lambda _known, _log, rows, _edges: (rows.length, rows),
        Seed(frozenset({"third_anew"}), 42),
    ),
    kept_by(
        "Copies of an earlier incarnation have an origin of their own",
        "state.incarnations.KnownIncarnations._told_apart",
        lambda _known, _log, copies, _origin: copies,
        Seed(frozenset({"third_anew"}), 40),
    ),
    kept_by(
        "What was read of a leader above the end of its epoch is read again",
        "ingest.incarnation_check.IncarnationCheck.elected_since",
        lambda _check, _alias, _epochs: {},
        "ingest/test_incarnation_check.py::"
        "test_records_that_a_leader_lost_after_they_were_read_are_not_those_of_the_next_one",
    ),
    kept_by(
        "An old epoch counts at most to where a known later one began",
        "model.values.EpochChange.end",
        _as_reported,
        "kafka/test_leader_epochs.py::"
        "test_records_end_where_a_known_epoch_began_that_the_leader_lacks[epoch 2 began below]",
    ),
    kept_by(
        "A target that was truncated at an unknown offset is withheld",
        "model.values.EpochChange.end",
        _certain,
        "state/test_checked_metadata.py::"
        "test_a_log_is_cut_if_its_last_epoch_ended_below_what_is_indexed_or_began_there_and_the_leader_has_none_of_it",
    ),
    kept_by(
        "A commit whose last record an election has lost is withheld by its leader epoch",
        "state.translator.of_lost_records",
        _none,
        Seed(frozenset({"elected"})),
    ),
    kept_by(
        "Copies that a truncation has removed are unread until the mirror has copied them again",
        "translate.index.log_index.LogIndex.lose",
        nothing,
        Seed(frozenset({"cut_grows"}), 120),
    ),
    kept_by(
        "Below an index that began late there may be copies that the source has lost",
        "translate.exact._may_differ",
        lambda first_runs, *_known: np.zeros(len(first_runs), np.bool_),
        "translate/test_partition.py::test_copies_that_a_cut_has_taken_from_the_source_may_be_below_a_late_index",
    ),
    kept_by(
        "A new incarnation and its rows become visible together",
        "state.record_index.RecordIndex._incarnations_after",
        _without_rebuilding,
        Seed(frozenset({"cut_grows"}), 161),
    ),
    kept_by(
        "An answer about a leader is refused where another query has recorded the next one meanwhile",
        "ingest.incarnation_check._epoch_of",
        nothing,
        "ingest/test_incarnation_check.py::test_two_queries_that_ask_about_a_new_leader_at_once_find_no_cut",
    ),
    kept_by(
        "A cluster's answer from before another query noticed a change is asked for again",
        "ingest.incarnation_check.IncarnationCheck._refuse_overtaken",
        nothing,
        "ingest/test_incarnation_check.py::test_what_a_cluster_said_before_another_query_noticed_more_is_asked_again",
    ),
    kept_by(
        "A driver that was paused sees which leaders another driver has recorded",
        "ingest.incarnation_log.IncarnationLog.is_behind",
        no,
        "ingest/test_incarnation_check.py::test_what_a_driver_that_woke_has_indexed_under_the_new_leader_is_no_cut",
    ),
    kept_by(
        "A broker that does not lead any more is not believed",
        "kafka.leader_epochs._BY",
        re.compile("()$"),
        "kafka/test_leader_epochs.py::test_the_leader_under_the_present_epoch_is_believed_and_what_is_no_answer_is_no_truncation",
    ),
    kept_by(
        "A truncated __consumer_offsets is read again from where it differs",
        "ingest.commit_log_check.CommitLogCheck.look",
        _nothing_again,
        "ingest/test_commit_log_check.py::"
        "test_one_that_was_cut_is_read_as_it_is_now_whatever_could_be_read_of_it_before",
    ),
    kept_by(
        "Acknowledged writes of ours are uncertain under a new leader until they are read back",
        "ingest.commit_log_check.CommitLogCheck.look",
        _certain_of_writes,
        "ingest/test_commit_log_check.py::test_what_was_acknowledged_and_never_read_may_be_gone_with_a_leader",
    ),
    kept_by(
        "What only a coordinator has counts",
        "ingest.polled_commits.CoordinatorCheck.poll",
        lambda _check: [],
        "ingest/test_coordinator_check.py::"
        "test_what_the_log_has_lost_counts_may_be_of_any_age_and_later_records_follow_it",
    ),
    kept_by(
        "A coordinator's offset counts only where the log does not explain it",
        "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
        lambda _check, found, _read_to: list(found),
        "ingest/test_coordinator_check.py::test_a_group_whose_coordinator_has_moved_is_not_gone",
    ),
    kept_by(
        "What a lost source has said of its log still holds",
        "state.last_translations.SourceMemory.reasons",
        _no_reason,
        "sync/test_reconciler_what_sources_said.py::test_it_holds_for_what_it_was_said_of",
    ),
    kept_by(
        "A commit beyond the end of a lost source stays withheld whatever happens at the target",
        "state.last_translations.SourceMemory.reasons",
        _no_reason,
        "sync/test_reconciler_what_sources_said.py::"
        "test_it_holds_for_what_it_was_said_of[nothing-12-COMMIT_BEYOND_END-False]",
    ),
    kept_by(
        "A commit beyond the end is released once the index has read its log so far",
        "state.last_translations._valid_states",
        lambda pair, key, _log: pair["state"][key],
        "status/test_offset_translation.py::"
        "test_a_log_that_was_cut_withholds_all_of_it_until_it_is_read_again_and_then_what_is_of_before",
    ),
    kept_by(
        "A given offset above all that is known of a lost source is withheld",
        "status.kept_offsets.OffsetTranslation._beyond_all_known",
        lambda _self, _source, _place, given: _none(given),
        "status/test_offset_translation.py::"
        "test_above_all_that_is_known_of_a_lost_source_only_a_time_after_it_was_read_to_its_end_is_believed",
    ),
    kept_by(
        "A given offset that may be of an earlier incarnation is withheld unless its time proves it valid",
        "state.translator.of_former_incarnations",
        _none,
        "status/test_offset_translation.py::"
        "test_an_offset_that_may_be_of_a_former_life_needs_a_time_that_proves_otherwise",
    ),
)
