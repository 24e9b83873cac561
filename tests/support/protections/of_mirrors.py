"""Mirrors and records: for each fault of docs/reliability.md what protects, taken out.

Without rows of copies recognised by contents, which are a package of their own.
"""

from __future__ import annotations

from typing import Any

from protections.entry import Protection, Seed, kept_by, nothing

_INGEST, _STATE, _DECODE = "offset_sync.ingest.", "offset_sync.state.", "offset_sync.decode."
_TESTS = "tests/unit/"


def _follows_in_its_origin(first: Any, second: Any, _split_on_timestamp: bool) -> bool:
    end = int(first.origin_start[-1]) + int(first.length[-1])
    return end == int(second.origin_start[0]) and bool(first.origin_code[-1] == second.origin_code[0])


def _whatever_was_read(_known: Any, _read: Any, ends: Any, asked_at: Any) -> Any:
    return dict.fromkeys(ends, asked_at)


def _deleted_anywhere(offsets: Any, _kept_ms: int = 0) -> Any:
    return (offsets.column("is_deleted") != 0).any(axis=0)


PROTECTIONS: tuple[Protection, ...] = (
    kept_by(
        "A record below an earlier one of its origin is noticed, in the order of the log",
        "translate.index.log_index.LogIndex._note_order",
        nothing,
        "translate/index/test_log_index.py::"
        "test_a_log_and_its_views_know_what_they_were_given_and_the_first_of_what_came_twice",
    ),
    kept_by(
        "Runs of two batches are joined only where no offset and no change of time is between them",
        "ingest.run_builder._continues",
        _follows_in_its_origin,
        "ingest/test_run_builder.py::test_wherever_batches_end_the_runs_are_the_same",
    ),
    kept_by(
        "A log that could not be read is left out of later micro-batches",
        "ingest.unreadable_logs.UnreadableLogs.left_out",
        lambda _logs, start, end: (start, end),
        "ingest/test_unreadable_logs.py::test_a_plan_that_is_not_done_yet_goes_on_without_it",
    ),
    kept_by(
        "A log is complete only up to a time at which its end was seen, and reached since",
        "ingest.log_check.Completeness.of",
        _whatever_was_read,
        "ingest/test_index_parts.py::test_what_came_before_the_moment_that_is_told_is_read_and_of_a_quiet_log_all",
    ),
    kept_by(
        "A hole at the source does not age while the source's index is behind",
        "state.translator.watched_until_ms",
        lambda _log, _log_end, now_ms: now_ms,
        Seed(frozenset({"late"}), 18),
    ),
    kept_by(
        "A record that names an offset beyond its origin's log end is no copy",
        "ingest.origin_check.OriginCheck.refute",
        lambda _check, cut, _said: cut,
        "ingest/test_index_parts.py::test_every_record_keeps_its_identity_or_loses_it_by_the_end_of_its_origin",
    ),
    kept_by(
        "A record with the place header of another partition was produced where it is",
        "decode.mirror_headers.confirmed",
        lambda found, _places: found,
        "ingest/test_run_builder.py::"
        "test_records_that_name_another_place_are_produced_here_and_copies_without_one_are_malformed",
    ),
    kept_by(
        "A copy of a topic that is produced at one cluster names that cluster, or is unread",
        "ingest.run_builder.of_one_origin",
        lambda found, _is_home: found,
        "ingest/test_run_builder.py::"
        "test_a_copy_has_records_of_its_home_and_what_names_another_origin_is_unread_by_everyone[X.orders]",
    ),
    kept_by(
        "An offset header that no log can have is malformed",
        "decode.mirror_headers.LARGEST_OFFSET",
        2**63 - 1,
        "decode/test_mirror_headers.py::"
        "test_an_offset_that_is_no_plain_number_is_malformed"
        "[text-4611686018427387904-exceeds 4611686018427387903]",
    ),
    kept_by(
        "A commit time that is no date counts as the time of its record",
        "ingest.commit_batch.LATEST_MS",
        2**62,
        "ingest/test_commit_ingester.py::test_of_a_commit_with_a_time_that_is_no_date_the_time_of_its_record_counts",
    ),
    kept_by(
        "The query stops at commits of an unknown record version",
        "ingest.commit_log_check.UnknownVersions.check",
        nothing,
        "ingest/test_commit_ingester.py::"
        "test_when_a_cluster_writes_a_new_version_nothing_is_passed_and_the_line_says_what_to_do",
    ),
    kept_by(
        "Our clock may be ahead of the indexing job's by all that its newest row is old",
        "state.cluster_clock.ClockOffset.at_most",
        lambda _clock: 0,
        "state/test_clock_offset.py::test_it_is_never_said_to_be_less_than_it_is",
    ),
    kept_by(
        "A deleted commit is dropped only once every cluster's log was read for two weeks beyond it",
        "state.last_known.is_over",
        _deleted_anywhere,
        "state/test_last_known.py::test_a_cluster_that_was_away_does_not_get_the_last_word[folded]",
    ),
)
