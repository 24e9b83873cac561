"""Mirrors, recreated topics and truncated logs: for each fault of docs/reliability.md what protects, taken out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd
from offset_sync.tables.catalog import RECREATED, TRUNCATED
from protections import invariant_patches as without
from protections.entry import absent_for, changed, false_for, given, gives, kept_by, no, nothing, protections, seed


def _without(reason: str, real: Any = IncarnationCheck._rows) -> Any:
    def rows(check: Any, *asked: Any) -> Any:
        found, reach = real(check, *asked)
        return [each for each in found if each.reason != reason], reach

    return rows


def _no_reasons(*given: Any) -> Any:
    return np.full(len(given[3][0]), ABSENT, np.intp)


def _follows_in_its_origin(second: Any, first: Any) -> bool:
    end = int(first.origin_start[-1]) + int(first.length[-1])
    return end == int(second.origin_start[0]) and bool(first.origin[-1] == second.origin[0])


PROTECTIONS = protections(
    # Mirrors and records; copies recognised by contents are a package of their own.
    "A record below an earlier one of its origin is noticed, in the order of the log",
    kept_by("log_index.LogIndex._note_order", nothing, "log_index a_log_and_its_views"),
    "Runs of two batches are joined only where no offset is between them",
    kept_by("runs.Runs.continues", _follows_in_its_origin, "log_index a_log_and_its_views"),
    "A log that could not be read is left out of later micro-batches",
    kept_by("unreadable_logs.UnreadableLogs.left_out", lambda _logs, *plan: plan, "checkpoint a_plan_that_is_not"),
    "A log is complete only up to a time at which its end was seen, and reached since",
    kept_by("log_check.Completeness.of", without.whatever_was_read, "record_indexer what_came_before_the_moment"),
    "A hole at the source does not age while the source's index is behind",
    kept_by("translator.watched_until_ms", given(2), seed(23, "late")),
    "A record that names an offset beyond its origin's log end is no copy",
    kept_by("origin_check._log_ends", without.endless, "record_indexer every_record_keeps_its_identity"),
    "A record with the place header of another partition was produced where it is",
    kept_by("mirror_headers.PLACE_HEADER", "none", "run_builder records_that_name_another_place"),
    "A copy of a topic that is produced at one cluster names that cluster, or is unread",
    kept_by("run_builder.StreamIdentities._refusal", gives(""), "run_builder a_copy_has_records_of[X.orders]"),
    "An offset header that no log can have is malformed",
    kept_by(
        "mirror_headers.LARGEST_OFFSET",
        2**63 - 1,
        "mirror_headers an_offset_that_is_no[text-4611686018427387904-exceeds 4611686018427387903]",
    ),
    "A commit time that is no date counts as the time of its record",
    kept_by("commit_batch.LATEST_MS", 2**62, "commit_ingester of_a_commit_with_a"),
    "The query stops at commits of an unknown record version",
    kept_by("commit_log_check.UnknownVersions.check", nothing, "commit_ingester when_a_cluster_writes_a"),
    "Our clock may be ahead of the indexing job's by all that its newest row is old",
    kept_by("cluster_clock.ClockOffset.at_most", gives(0), "home how_far_clocks_may"),
    "A deleted commit is dropped only once every cluster's log was read for two weeks beyond it",
    kept_by("last_known.is_over", without.deleted_anywhere, "last_known a_cluster_that_was_away[folded]"),
    # Recreated topics and truncated logs.
    "A recreated topic is noticed by its id",
    kept_by("incarnation_check.IncarnationCheck._rows", _without(RECREATED), seed(0, "shrink")),
    "A truncated log is noticed by where its last epoch ended",
    kept_by(
        "incarnation_check.IncarnationCheck._rows", _without(TRUNCATED), "incarnation_check a_cut_that_was_not[False]"
    ),
    "A log with a new incarnation is read again, also by the next driver",
    kept_by("incarnation_log.IncarnationLog.unread", gives({}), "incarnation_check an_incarnation_that_begins_while"),
    "A commit made before its log was truncated or recreated is withheld",
    kept_by("translator.of_former_incarnations", absent_for(0), "reconciler_withheld a_commit_that_names_the"),
    "A copy that came back to its origin may be of either incarnation too",
    kept_by(
        "incarnation_check.IncarnationCheck.unsettled",
        without.none_that_came_back,
        "incarnation_check a_copy_that_came",
    ),
    "A cut that is recorded while the runs are read counts with the next ones",
    kept_by(
        "incarnations.KnownIncarnations.is_uncut",
        lambda known, log: log in known._uncut_now,
        "record_index a_cut_that_is_recorded_while",
    ),
    "A cut that a crash has prevented is made by the next driver",
    kept_by("incarnation_log.IncarnationLog.uncut", gives({}), "incarnation_check a_cut_that_was_not[True]"),
    "A log is read again from where what a cut has left of it ends",
    kept_by("run_cuts.RowCutter.ends", {}, "run_cuts from_the_cut_on[0]"),
    "What was verified before another query noticed an incarnation is not entered after it",
    kept_by("incarnation_check.IncarnationCheck.confirm", nothing, "incarnation_check what_was_verified_before"),
    "What was read of a leader above the end of its epoch is read again",
    kept_by("incarnation_check.IncarnationCheck.elected_since", gives({}), "incarnation_check records_that_a_leader"),
    "An old epoch counts at most to where a known later one began",
    kept_by(
        "values.EpochChange.end",
        lambda _change, end, _epoch: ReportedEnd(end, True),
        "leader_epochs records_end_where_a_known[epoch 2 began below]",
    ),
    "A target that was truncated at an unknown offset is withheld",
    kept_by("values.EpochChange.end", changed(EpochChange.end, is_certain=True), "checked_metadata a_log_is_cut_if"),
    "A commit whose last record an election has lost is withheld by its leader epoch",
    kept_by("translator.of_lost_records", absent_for(0), seed(0, "elected")),
    "Copies that a truncation has removed are unread until the mirror has copied them again",
    kept_by("log_index.LogIndex.lose", nothing, seed(120, "cut_grows")),
    "Below an index that began late there may be copies that the source has lost",
    kept_by("exact._may_differ", false_for(0), "partition copies_that_a_cut_has"),
    "A log is withheld until the index is read that was cut by its last incarnation",
    kept_by("incarnations.KnownIncarnations.is_uncut", no, seed(29, "third_anew,uncut")),
    "While the index is not cut nothing is translated from or to that log, whoever is silent",
    kept_by("translator.Translator._is_uncut", no, "reconciler_withheld while_the_index_is_not_cut[X-True]"),
    "An answer about a leader is refused where another query has recorded the next one meanwhile",
    kept_by("incarnation_check._epoch_of", nothing, "incarnation_check two_queries_that_ask_about"),
    "A cluster's answer from before another query noticed a change is asked for again",
    kept_by("incarnation_check.IncarnationCheck._refuse_overtaken", nothing, "incarnation_check what_a_cluster_said"),
    "A driver that was paused sees which leaders another driver has recorded",
    kept_by("incarnation_log.IncarnationLog.is_behind", no, "incarnation_check what_a_driver_that_woke"),
    "A broker that does not lead any more is not believed",
    kept_by("leader_epochs._BY", re.compile("()$"), "leader_epochs the_leader_under_the_present"),
    "A truncated __consumer_offsets is read again from where it differs",
    kept_by(
        "commit_log_check.CommitLogCheck.look",
        changed(CommitLogCheck.look, again={}, whole=frozenset()),
        "commit_ingester one_that_was_cut_is",
    ),
    "Acknowledged writes of ours are uncertain under a new leader until they are read back",
    kept_by(
        "commit_log_check.CommitLogCheck.look", changed(CommitLogCheck.look, is_certain=True), "commit_ingester one"
    ),
    "An answer that comes after that makes none of them certain",
    kept_by("own_writes.OwnWrites.doubt_all", nothing, "own_writes an_answer_says_nothing"),
    "What only a coordinator has counts",
    kept_by("polled_commits.CoordinatorCheck.poll", gives([]), "coordinator_check what_the_log_has_lost"),
    "What a lost source has said of its log still holds",
    kept_by("last_translations.SourceMemory.reasons", _no_reasons, "reconciler_what_sources_said it_holds_for_what_it"),
    "A commit beyond the end of a lost source stays withheld whatever happens at the target",
    kept_by(
        "last_translations.SourceMemory.reasons",
        _no_reasons,
        "reconciler_what_sources_said it_holds_for_what_it[nothing-12-COMMIT_BEYOND_END-False]",
    ),
    "A commit beyond the end is released once the index has read its log so far",
    kept_by("last_translations._valid_states", lambda pair, key, _log: pair["state"][key], "offset_translation a_log"),
    "A given offset above all that is known of a lost source is withheld",
    kept_by("kept_offsets.OffsetTranslation._beyond_all_known", absent_for(3), "offset_translation above_all_that_is"),
    "A given offset that may be of an earlier incarnation is withheld unless its time proves it valid",
    kept_by("translator.of_former_incarnations", absent_for(0), "offset_translation an_offset_that_may_be"),
)
