"""What keeps the promise while clusters are silent, are others than before, or refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import Activity, GroupPlan
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.log_check import LogCheck
from offset_sync.kafka.group_offsets import Coordinators, GroupOffsets
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Outcome, Rule
from offset_sync.state.group_homes import UnreadLogs
from offset_sync.sync.offset_writer import _Batch, decide
from protections.entry import kept_by, no, nothing

_UNIT = "tests/unit/"


class _WaitedFor(threading.Thread):
    def join(self, timeout: float | None = None) -> None:
        super().join()


def _read_once(batch: _Batch, deadline: float, read: Callable[..., Any] = _Batch._read) -> Any:
    return list(batch.pending) if batch._previous else read(batch, deadline)


def _first_seen_now(batch: _Batch, key: Any, found: Any, decided: Any = _Batch._is_to_be_written) -> Any:
    batch._previous.pop(key, None)
    return decided(batch, key, found)


def _of_any_author(write: OffsetWrite, actual: Committed | None) -> Outcome | None:
    return decide(replace(write, rule=Rule.SET), actual)


def _counted_before_the_end(logs: UnreadLogs, source: str, *rows: Any, counted: Any = UnreadLogs.may_count) -> Any:
    unread, logs._unread = logs._unread, logs._unread - {source}
    try:
        return counted(logs, source, *rows)
    finally:
        logs._unread = unread


def _written_unverified(_coordinators: Coordinators, client: GroupOffsets, parts: Sequence[Any], *limits: Any) -> Any:
    return client.write(parts, *limits) if parts else []


def _asked_unverified(check: LogCheck, *given: Any, ask: Any = LogCheck._ask) -> Any:
    check._asked = check._asked._replace(verify=lambda: None)
    return ask(check, *given)


def _stopped_if_unlisted(clusters: LiveClusters, *given: Any, ask: Any = LiveClusters.activities) -> Any:
    found = ask(clusters, *given)
    known = {Activity.UNKNOWN: Activity.INACTIVE}
    return found if isinstance(found, ClusterError) else {g: known.get(each, each) for g, each in found.items()}


def _taken_for_stopped(
    procedure: CutoverProcedure, plan: GroupPlan, *given: Any, reasons: Any = CutoverProcedure._source_reasons
) -> Any:
    if plan.at_source is Activity.UNKNOWN:
        plan.at_source = Activity.INACTIVE
    return reasons(procedure, plan, *given)


def _begun_and_kept(checkpoint: Checkpoint, verify: Callable[[], None]) -> None:
    verify()
    checkpoint.repair()


PROTECTIONS = (
    # A coordinator does not answer a poll.
    kept_by(
        "at the start every group has to answer a poll",
        "ingest.polled_commits.CommitPoller._note_errors",
        nothing,
        "ingest/test_polled_commits.py::test_at_first_every_group_has_to_answer_and_later_the_others_go_on",
    ),
    # A cluster is silent, frozen or resets connections, also at the start.
    kept_by(
        "a commit that is no longer the newest when its clusters have answered is left to a later pass",
        "sync.reconciliation.ReconcilePass._still_due",
        lambda _pass, _source, _target, commits, _snapshot, _request: commits,
        "sync/test_reconciler_passes.py::test_a_newer_commit_during_our_query_is_left_to_its_own_pass",
    ),
    kept_by(
        "a silent cluster is waited for once and then asked in the background",
        "state.cluster_metadata.Silence.of",
        lambda _silence, _alias: (None, frozenset()),
        "state/test_silence.py::test_a_silent_cluster_is_waited_for_once_and_asked_in_the_background_until_it_answers",
    ),
    # A cluster's addresses lead to another one for a while.
    kept_by(
        "members that another cluster lists are unknown",
        "kafka.topic_requests.TopicRequests.refuse_others",
        nothing,
        "kafka/test_other_clusters.py::test_members_of_another_cluster_are_unknown",
    ),
    kept_by(
        "many groups are not read at once from another cluster",
        "sync.groups_at_once.refuse_other",
        nothing,
        "sync/test_groups_at_once.py::test_a_cluster_with_another_id_gives_no_answers",
    ),
    kept_by(
        "no write is sent before the id of the cluster is known",
        "kafka.group_offsets.Coordinators._written",
        _written_unverified,
        "kafka/test_coordinators.py::test_a_write_is_not_sent_before_it_is_known_which_cluster_it_would_go_to",
    ),
    kept_by(
        "the id of a cluster is kept with its first answer",
        "state.cluster_ids._keep",
        lambda config, _files, found: config.with_ids({**config.ids, **found}),
        "state/test_cluster_ids.py::test_the_first_answers_are_kept_and_no_cluster_is_asked_again",
    ),
    kept_by(
        "two names of one cluster are refused",
        "config.configuration.same_ids",
        lambda _ids: [],
        "state/test_cluster_ids.py::test_two_aliases_of_one_cluster_are_refused_and_nothing_is_kept",
    ),
    kept_by(
        "a query of the index starts only at the cluster that it was at before",
        "ingest.index_parts.verify",
        nothing,
        "jobs/test_sync_batch.py::test_a_query_of_the_index_does_not_start_at_another_cluster",
    ),
    kept_by(
        "a query of commits starts only at the cluster that it was at before",
        "jobs.commit_query.verify",
        nothing,
        "jobs/test_sync_batch.py::test_a_query_of_commits_does_not_start_at_another_cluster",
    ),
    kept_by(
        "offsets are neither read from nor written to another cluster",
        "kafka.topic_requests.TopicRequests.refuse_others",
        nothing,
        "kafka/test_other_clusters.py::test_offsets_of_another_cluster_are_neither_read_nor_written",
    ),
    kept_by(
        "coordinators that did not answer are compared with their log again after a minute",
        "jobs.watches._AGAIN_S",
        86_400.0,
        "ingest/test_coordinator_check.py::test_a_cluster_that_does_not_answer_is_said_and_asked_again",
    ),
    kept_by(
        "after a micro-batch was read, a new client gets to the same cluster",
        "ingest.log_check.LogCheck._ask",
        _asked_unverified,
        "ingest/test_incarnation_check.py::test_what_new_clients_would_read_elsewhere_is_not_written_down",
    ),
    kept_by(
        "a micro-batch that another cluster has planned is planned again",
        "ingest.checkpoint.Checkpoint.begin",
        _begun_and_kept,
        "ingest/test_checkpoint.py::test_what_another_cluster_planned_is_planned_again_under_another_name",
    ),
    kept_by(
        "a micro-batch that has failed because of another cluster is not repeated",
        "ingest.failing_batches.OtherClusterError",
        type("NoError", (Exception,), {}),
        "ingest/test_failing_batches.py::test_a_micro_batch_that_another_cluster_has_planned_is_not_repeated",
    ),
    # One leader is silent.
    kept_by(
        "what was read of a log whose leader is silent since is read again",
        "ingest.log_check.refuse_unknown",
        nothing,
        "ingest/test_incarnation_check.py::"
        "test_what_was_read_of_a_log_whose_leader_is_silent_since_is_not_written_down",
    ),
    kept_by(
        "a query is planned without the logs of a silent leader",
        "ingest.checkpoint.Checkpoint.leave_out",
        lambda _checkpoint, _is_left_out: {},
        "ingest/test_unreadable_logs.py::"
        "test_a_leader_that_is_away_is_not_planned_for_and_its_log_goes_on_where_it_was",
    ),
    # A cluster cannot be read at the start.
    kept_by(
        "what is read on the way to the end of a log does not count before that is reached",
        "state.group_homes.UnreadLogs.may_count",
        _counted_before_the_end,
        "sync/test_reconciler_passes.py::test_a_commit_on_the_way_to_the_end_of_a_log_does_not_count",
    ),
    # Brokers are frozen, or down for hours, repeatedly.
    kept_by(
        "no request times out inside librdkafka, which would end the process",
        "kafka.topic_requests.LONGEST_S",
        15.0,
        "kafka/test_cluster_admin.py::"
        "test_the_partitions_of_a_silent_leader_are_left_out_and_the_others_wait_only_a_moment",
    ),
    kept_by(
        "a client without answers is replaced",
        "kafka.topic_requests.TopicRequests._replace_client",
        no,
        "kafka/test_cluster_admin.py::test_a_client_with_abandoned_requests_is_replaced_when_it_is_old",
    ),
    # A request is applied and its response lost.
    kept_by(
        "the target is read again before a write is repeated",
        "sync.offset_writer._Batch._read",
        _read_once,
        "sync/test_offset_writer.py::test_a_repetition_does_not_overwrite_a_write_made_while_we_waited",
    ),
    kept_by(
        "a write whose answer was lost and that has arrived is ours",
        "sync.offset_writer._Batch._is_to_be_written",
        _first_seen_now,
        "sync/test_offset_writer.py::test_a_write_whose_answer_was_lost_but_that_arrived_counts_as_committed",
    ),
    # A group's commit is larger than a batch of __consumer_offsets.
    kept_by(
        "a commit is cut into parts that fit into a batch",
        "kafka.requests.CommitParts.of",
        lambda _parts, writes: [each] if (each := [*writes]) else [],
        "kafka/test_coordinators.py::test_with_the_default_of_kafka_no_part_is_refused",
    ),
    kept_by(
        "what a coordinator refuses as too large is written in smaller parts",
        "kafka.requests.CommitParts.noted",
        lambda _parts, _part, errors: errors,
        "kafka/test_coordinators.py::test_what_is_refused_is_committed_in_smaller_parts",
    ),
    # A group is moved, reads nothing, and is moved back.
    kept_by(
        "a group that still skips is not moved on",
        "cutover.procedure.CutoverProcedure._list_reasons",
        lambda _procedure, _plan, _crossed: [],
        "cutover/test_skip_read.py::test_a_group_that_still_skips_at_its_source_is_not_moved_without_lists_either",
    ),
    # A group is reset while we write.
    kept_by(
        "a value of another client is only moved forward",
        "sync.offset_writer.decide",
        _of_any_author,
        "sync/test_offset_writer.py::test_only_the_value_that_is_expected_is_overwritten_and_anothers_forward_only",
    ),
    # Describe on a group is missing, or its type is unknown.
    kept_by(
        "the members of a group that has offsets and is not listed are unknown",
        "cutover.live_clusters.LiveClusters.activities",
        _stopped_if_unlisted,
        "cutover/test_live_clusters.py::test_a_group_that_is_not_listed_is_unknown_where_it_has_offsets",
    ),
    kept_by(
        "a planned move of a group whose members are unknown is refused",
        "cutover.procedure.CutoverProcedure._source_reasons",
        _taken_for_stopped,
        "cutover/test_procedure.py::test_a_group_of_unknown_members_has_to_be_confirmed_at_the_source_only",
    ),
    kept_by(
        "check fails if Describe on a group is missing",
        "check.judge._refused",
        lambda *_rights: iter(()),
        "check/test_findings.py::test_what_check_finds_is_in_the_golden_file",
    ),
    # A right is missing; a search for a password.
    kept_by(
        "a refusal names the right to be granted",
        "kafka.requests.missing_right",
        lambda _what, operation: f"REFUSED: {operation}",
        "kafka/test_coordinators.py::test_an_error_of_a_partition_goes_on_with_the_right_and_others_stay_as_they_are",
    ),
    kept_by(
        "a secret is not shown",
        "config.secret.Secret.__repr__",
        str.__repr__,
        "config/test_client_options.py::test_secrets_of_the_section_are_never_shown",
    ),
    kept_by(
        "a client that never closes holds no micro-batch up",
        "kafka.log_reader.threading",
        SimpleNamespace(Thread=_WaitedFor),
        "kafka/test_log_reader.py::test_a_client_that_never_closes_holds_nobody_up",
    ),
)
