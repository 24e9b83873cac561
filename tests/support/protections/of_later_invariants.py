"""Invariants 11 to 20 of docs/design.md: what a patch can take out of each, and the test that notices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from offset_sync.status.classify import _told
from offset_sync.sync.offset_writer import _Batch
from protections import invariant_patches as without
from protections.entry import gives, kept_by, nothing, protections, seed, yes

BY_NUMBER = {
    11: protections(
        {
            "a group whose records are not all mirrored is not in sync": kept_by(
                "status.classify._mirroring",
                lambda assessment: [_told(assessment.held_back)],
                "status/test_reports_under_load.py what_was_there_and_is_not",
            ),
            "a group with a commit that is not captured is not in sync": kept_by(
                "status.classify._behind",
                lambda assessment: [_told(assessment.held_back)],
                "status/test_held_offsets.py a_commit_that_is_not",
            ),
            "a group whose next records differ on both sides is not in sync": kept_by(
                "status.live_state.needs_comparison",
                lambda assessment: np.zeros(len(assessment.status), np.bool_),
                "status/test_classify.py another_record_or_another",
            ),
        }
    ),
    12: protections(
        {
            "what a driver has seen of its lease is valid for a moment": kept_by(
                "state.lease.Lease.is_open",
                lambda lease: lease._newer is None,
                "state/test_lease.py no_driver_writes_while",
            ),
            "a driver that was taken over finds out before it writes": kept_by(
                "state.lease.newer_than", nothing, "state/test_lease.py no_driver_writes_while"
            ),
            "a driver that takes over waits as long as the one before may write": kept_by(
                "state.lease.unended", gives([]), "state/test_lease.py no_driver_writes_while"
            ),
            "a driver that takes over waits as long as the claim before says, which follows the storage": kept_by(
                "state.lease.Claim.length_s", 2.0, "state/test_lease.py no_driver_writes_while"
            ),
            "a driver that was taken over enters nothing in the tables": kept_by(
                "state.lease.Lease.renew", nothing, "state/test_lease.py who_was_taken_over_appends"
            ),
            "each request is sent only while the lease is valid": kept_by(
                "sync.offset_writer._Batch",
                lambda admin, fence, *others: _Batch(admin, SimpleNamespace(renew=fence.renew, is_open=yes), *others),
                "sync/test_offset_writer.py a_pause_after_the_look",
            ),
        }
    ),
    13: protections(
        {
            "rows are on the disk before their entry": kept_by(
                "tables.files.Files.sync", nothing, "tables/test_append.py what_was_acknowledged_is_there[0]"
            ),
            "the name of a new file is on the disk before its entry": kept_by(
                "tables.files.Files.sync_folders", nothing, "tables/test_append.py a_table_its_columns"
            ),
        }
    ),
    14: protections(
        {
            "runs leave memory only for a page that holds the same": kept_by(
                "translate.index.runs.Runs.same_records", yes, seed(161, "cut_grows")
            ),
            "a page that does not match its directory withholds answers": kept_by(
                "state.index_pages._is_said", yes, "state/test_record_index.py a_file_that_holds[damage1]"
            ),
            "a file that does not match its directory is no longer used": kept_by(
                "tables.segments.Segments.distrust", nothing, "state/test_record_index.py a_file_that_holds"
            ),
        }
    ),
    15: protections(
        {
            "commits of an unknown version stop the query": kept_by(
                "ingest.commit_ingester.UnknownVersions.check",
                nothing,
                "ingest/test_commit_ingester.py when_a_cluster_writes",
            ),
        }
    ),
    16: protections(
        {
            "a polled commit may be as old as its group's answer before": kept_by(
                "ingest.polled_commits.CommitPoller._compare",
                without.as_new_as_the_poll,
                seed(0, "polls"),
            ),
            "a group that has not answered before may have committed at any time": kept_by(
                "ingest.polled_commits.CommitPoller._compare",
                without.as_new_as_the_poll,
                seed(1, "polls"),
            ),
        }
    ),
    17: protections(
        {
            "a group with offsets of a repartition topic is known to be an application": kept_by(
                "cutover.live_clusters.LiveClusters.internal_topics",
                gives({}),
                "cutover/test_live_clusters.py an_application_has_offsets",
            ),
            "a planned move of an application with a repartition topic is refused unless it is confirmed": kept_by(
                "cutover.procedure.CutoverProcedure._internal_reasons",
                gives([]),
                "cutover/test_procedure.py an_application_with_a_repartition",
            ),
        }
    ),
    18: protections(
        {
            "what the log brings in a moment is no news of the coordinator": kept_by(
                "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
                lambda _check, found, _read_to: list(found),
                "ingest/test_coordinator_check.py a_commit_between_the_answer",
            ),
            "what a coordinator holds counts where the log does not explain it": kept_by(
                "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
                gives([]),
                "ingest/test_coordinator_check.py after_a_comparison_what",
            ),
            "an offset that a coordinator has no more is deleted only if its record is gone too": kept_by(
                "ingest.polled_commits.CoordinatorCheck._not_in_the_log",
                lambda _check, found, _read_to: list(found),
                "ingest/test_coordinator_check.py an_offset_that_is_gone[by another coordinator]",
            ),
        }
    ),
    19: protections(
        {
            "the home is the last step of a move": kept_by(
                "cutover.procedure.CutoverProcedure._commit_and_read_back",
                without.home_first,
                "cutover/test_ends_of_apply.py a_group_of_which",
            ),
            "what a move has committed is read back": kept_by(
                "cutover.procedure.CutoverProcedure._read_back",
                gives(([], False)),
                "cutover/test_ends_of_apply.py a_group_of_which",
            ),
            "what a command was about to commit is ours": kept_by(
                "state.moves._note_commits", nothing, "state/test_moves.py what_a_command_has"
            ),
        }
    ),
    20: protections(
        {
            "two aliases are two clusters, each of the id that it had at first": kept_by(
                "state.cluster_ids.refuse_other", nothing, "state/test_cluster_ids.py what_another_job_has"
            ),
            "a client that is led to another cluster is refused": kept_by(
                "kafka.topic_requests.refuse_other",
                nothing,
                "kafka/test_other_clusters.py a_connected_client_that_is_led",
            ),
            "what was read at another cluster does not count": kept_by(
                "kafka.log_reader.refuse_other", nothing, "kafka/test_other_clusters.py what_a_consumer_has"
            ),
        }
    ),
}
PROTECTIONS = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
