"""Mirrors and records: for each fault of docs/reliability.md what protects, taken out.

Without rows of copies recognised by contents, which are a package of their own.
"""

from __future__ import annotations

from typing import Any

from protections import invariant_patches as without
from protections.entry import given, gives, kept_by, nothing, protections, seed


def _follows_in_its_origin(first: Any, second: Any, _split_on_timestamp: bool) -> bool:
    end = int(first.origin_start[-1]) + int(first.length[-1])
    return end == int(second.origin_start[0]) and bool(first.origin_code[-1] == second.origin_code[0])


PROTECTIONS = protections(
    "A record below an earlier one of its origin is noticed, in the order of the log",
    kept_by("log_index.LogIndex._note_order", nothing, "log_index a_log_and_its_views"),
    "Runs of two batches are joined only where no offset and no change of time is between them",
    kept_by("run_builder._continues", _follows_in_its_origin, "run_builder wherever_batches_end_the_runs"),
    "A log that could not be read is left out of later micro-batches",
    kept_by("unreadable_logs.UnreadableLogs.left_out", lambda _logs, *plan: plan, "unreadable_logs a_plan_that_is_not"),
    "A log is complete only up to a time at which its end was seen, and reached since",
    kept_by("log_check.Completeness.of", without.whatever_was_read, "index_parts what_came_before_the_moment"),
    "A hole at the source does not age while the source's index is behind",
    kept_by("translator.watched_until_ms", given(2), seed(18, "late")),
    "A record that names an offset beyond its origin's log end is no copy",
    kept_by("origin_check.OriginCheck.refute", given(1), "index_parts every_record_keeps_its_identity"),
    "A record with the place header of another partition was produced where it is",
    kept_by("mirror_headers.confirmed", given(0), "run_builder records_that_name_another_place"),
    "A copy of a topic that is produced at one cluster names that cluster, or is unread",
    kept_by("run_builder.of_one_origin", given(0), "run_builder a_copy_has_records_of[X.orders]"),
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
    kept_by("cluster_clock.ClockOffset.at_most", gives(0), "clock_offset it_is_never_said_to"),
    "A deleted commit is dropped only once every cluster's log was read for two weeks beyond it",
    kept_by("last_known.is_over", without.deleted_anywhere, "last_known a_cluster_that_was_away[folded]"),
)
