"""Invariants 11 to 20 of docs/design.md: what a patch can take out of each, and the test that notices."""

from __future__ import annotations

import numpy as np

from protections import invariant_patches as without
from protections.entry import Protection, Seed, kept_by, nothing, yes

_FAILS = "cutover/test_ends_of_apply.py::test_a_group_of_which_anything_fails_stays_at_home_at_the_source"

BY_NUMBER: dict[int, tuple[Protection, ...]] = {
    11: (
        kept_by(
            "a group whose records are not all mirrored is not in sync",
            "status.classify._mirroring",
            without.held_back_only,
            "status/test_reports_under_load.py::test_what_was_there_and_is_not_mirrored_is_waited_for",
        ),
        kept_by(
            "a group with a commit that is not captured is not in sync",
            "status.classify._behind",
            without.held_back_only,
            "status/test_held_offsets.py::test_a_commit_that_is_not_captured_is_behind_and_its_cost_is_not_known",
        ),
        kept_by(
            "a group whose next records differ on both sides is not in sync",
            "status.live_state.needs_comparison",
            lambda assessment: np.zeros(len(assessment.status), np.bool_),
            "status/test_classify.py::test_another_record_or_another_content_on_each_side",
        ),
    ),
    12: (
        kept_by(
            "what a driver has seen of its lease is valid for a moment",
            "state.lease.Lease.is_open",
            lambda lease: lease._newer is None,
            "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
        ),
        kept_by(
            "a driver that was taken over finds out before it writes",
            "state.lease.newer_than",
            nothing,
            "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
        ),
        kept_by(
            "a driver that takes over waits as long as the one before may write",
            "state.lease.unended",
            lambda *_claims: [],
            "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
        ),
        kept_by(
            "a driver that takes over waits as long as the claim before says, which follows the storage",
            "state.lease.Claim.length_s",
            2.0,
            "state/test_lease.py::test_no_driver_writes_while_a_former_one_may_and_the_last_one_does",
        ),
        kept_by(
            "a driver that was taken over enters nothing in the tables",
            "state.lease.Lease.renew",
            nothing,
            "state/test_lease.py::test_who_was_taken_over_appends_nothing_and_a_dry_run_never_does",
        ),
        kept_by(
            "each request is sent only while the lease is valid",
            "sync.offset_writer._Batch",
            without.looked_at_once,
            "sync/test_offset_writer.py::test_a_pause_after_the_look_lets_no_request_out_before_the_next_look",
        ),
    ),
    13: (
        kept_by(
            "rows are on the disk before their entry",
            "tables.files.Files.sync",
            nothing,
            "tables/test_power_failure.py::test_rows_are_stored_before_their_entry_and_both_before_a_write_returns",
        ),
        kept_by(
            "the name of a new file is on the disk before its entry",
            "tables.files.Files.sync_folders",
            nothing,
            "tables/test_power_failure.py::test_a_table_its_columns_and_its_properties_are_stored_before_that_returns",
        ),
    ),
    14: (
        kept_by(
            "runs leave memory only for a page that holds the same",
            "translate.index.runs.Runs.same_records",
            yes,
            Seed(frozenset({"cut_grows"}), 161),
        ),
        kept_by(
            "a page that does not match its directory withholds answers",
            "state.index_pages._is_said",
            yes,
            "state/test_record_index.py"
            "::test_a_file_that_holds_other_rows_than_it_says_is_read_as_if_it_said_nothing[damage1]",
        ),
        kept_by(
            "a file that does not match its directory is no longer used",
            "tables.segments.Segments.distrust",
            nothing,
            "state/test_record_index.py::test_a_file_that_holds_other_rows_than_it_says_is_read_as_if_it_said_nothing",
        ),
    ),
    15: (
        kept_by(
            "commits of an unknown version stop the query",
            "ingest.commit_ingester.UnknownVersions.check",
            nothing,
            "ingest/test_commit_batches.py"
            "::test_when_a_cluster_writes_a_new_version_nothing_is_passed_and_the_line_says_what_to_do",
        ),
    ),
    16: (
        kept_by(
            "a polled commit may be as old as its group's answer before",
            "ingest.polled_commits.CommitPoller._compare",
            without.as_new_as_the_poll,
            "ingest/test_polled_commits.py::test_a_group_that_did_not_answer_may_have_committed_ever_since_it_did",
        ),
        kept_by(
            "a group that has not answered before may have committed at any time",
            "ingest.polled_commits.CommitPoller._compare",
            without.as_new_as_the_poll,
            "ingest/test_polled_commits.py::test_a_group_that_was_not_asked_before_may_have_committed_at_any_time",
        ),
    ),
    17: (
        kept_by(
            "a group with offsets of a repartition topic is known to be an application",
            "cutover.live_clusters.LiveClusters.internal_topics",
            lambda *_told: {},
            "cutover/test_live_clusters.py"
            "::test_an_application_has_offsets_of_a_repartition_topic_at_the_source_included_or_not",
        ),
        kept_by(
            "a planned move of an application with a repartition topic is refused unless it is confirmed",
            "cutover.procedure.CutoverProcedure._internal_reasons",
            lambda *_told: [],
            "cutover/test_procedure.py"
            "::test_an_application_with_a_repartition_topic_has_to_be_confirmed_for_a_planned_move",
        ),
    ),
    18: (
        kept_by(
            "what the log brings in a moment is no news of the coordinator",
            "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
            lambda _check, found, _read_to: list(found),
            "ingest/test_coordinator_check.py::test_a_commit_between_the_answer_and_the_end_of_the_log_is_the_logs",
        ),
        kept_by(
            "what a coordinator holds counts where the log does not explain it",
            "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
            lambda *_told: [],
            "ingest/test_coordinator_check.py"
            "::test_a_coordinator_that_serves_another_value_than_the_last_record_of_its_log_is_followed",
        ),
        kept_by(
            "an offset that a coordinator has no more is deleted only if its record is gone too",
            "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
            lambda _check, found, _read_to: list(found),
            "ingest/test_coordinator_check.py"
            "::test_an_offset_that_is_gone_counts_as_deleted_only_if_the_log_has_it_no_more",
        ),
    ),
    19: (
        kept_by(
            "the home is the last step of a move",
            "cutover.procedure.CutoverProcedure._commit_and_read_back",
            without.home_first,
            _FAILS,
        ),
        kept_by(
            "what a move has committed is read back",
            "cutover.procedure.CutoverProcedure._read_back",
            lambda *_told: ([], False),
            _FAILS,
        ),
        kept_by(
            "what a command was about to commit is ours",
            "state.moves._note_commits",
            nothing,
            "state/test_moves.py::test_what_a_command_has_committed_is_ours_in_whatever_way_it_ended",
        ),
    ),
    20: (
        kept_by(
            "two aliases are two clusters, each of the id that it had at first",
            "state.cluster_ids.refuse_other",
            nothing,
            "state/test_cluster_ids.py::test_what_another_job_has_kept_meanwhile_wins",
        ),
        kept_by(
            "a client that is led to another cluster is refused",
            "kafka.topic_requests.refuse_other",
            nothing,
            "kafka/test_other_clusters.py"
            "::test_a_connected_client_that_is_led_elsewhere_is_refused_with_its_next_answer",
        ),
        kept_by(
            "what was read at another cluster does not count",
            "kafka.log_reader.refuse_other",
            nothing,
            "kafka/test_other_clusters.py::test_what_a_consumer_has_read_there_does_not_count",
        ),
    ),
}
PROTECTIONS: tuple[Protection, ...] = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
