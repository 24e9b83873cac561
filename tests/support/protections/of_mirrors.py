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
    {
        "A record below an earlier one of its origin is noticed, in the order of the log": kept_by(
            "translate.index.log_index.LogIndex._note_order",
            nothing,
            "translate/index/test_log_index.py a_log_and_its",
        ),
        "Runs of two batches are joined only where no offset and no change of time is between them": kept_by(
            "ingest.run_builder._continues",
            _follows_in_its_origin,
            "ingest/test_run_builder.py wherever_batches_end_the_runs",
        ),
        "A log that could not be read is left out of later micro-batches": kept_by(
            "ingest.unreadable_logs.UnreadableLogs.left_out",
            lambda _logs, start, end: (start, end),
            "ingest/test_checkpoint.py a_plan_that_is_not",
        ),
        "A log is complete only up to a time at which its end was seen, and reached since": kept_by(
            "ingest.log_check.Completeness.of",
            without.whatever_was_read,
            "ingest/test_record_indexer.py what_came_before_the_moment",
        ),
        "A hole at the source does not age while the source's index is behind": kept_by(
            "state.translator.watched_until_ms", given(2), seed(18, "late")
        ),
        "A record that names an offset beyond its origin's log end is no copy": kept_by(
            "ingest.origin_check.OriginCheck.refute", given(1), "ingest/test_record_indexer.py every_record_keeps_its"
        ),
        "A record with the place header of another partition was produced where it is": kept_by(
            "decode.mirror_headers.confirmed", given(0), "ingest/test_run_builder.py records_that_name_another"
        ),
        "A copy of a topic that is produced at one cluster names that cluster, or is unread": kept_by(
            "ingest.run_builder.of_one_origin", given(0), "ingest/test_run_builder.py a_copy_has_records[X.orders]"
        ),
        "An offset header that no log can have is malformed": kept_by(
            "decode.mirror_headers.LARGEST_OFFSET",
            2**63 - 1,
            "decode/test_mirror_headers.py an_offset_that_is_no[text-4611686018427387904-exceeds 4611686018427387903]",
        ),
        "A commit time that is no date counts as the time of its record": kept_by(
            "ingest.commit_batch.LATEST_MS", 2**62, "ingest/test_commit_ingester.py of_a_commit_with_a_time"
        ),
        "The query stops at commits of an unknown record version": kept_by(
            "ingest.commit_log_check.UnknownVersions.check",
            nothing,
            "ingest/test_commit_ingester.py when_a_cluster_writes",
        ),
        "Our clock may be ahead of the indexing job's by all that its newest row is old": kept_by(
            "state.cluster_clock.ClockOffset.at_most",
            gives(0),
            "state/test_clock_offset.py it_is_never_said",
        ),
        "A deleted commit is dropped only once every cluster's log was read for two weeks beyond it": kept_by(
            "state.last_known.is_over", without.deleted_anywhere, "state/test_last_known.py a_cluster_that_was[folded]"
        ),
    }
)
