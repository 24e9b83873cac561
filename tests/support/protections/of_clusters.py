"""What keeps the promise while clusters are silent, are others than before, or refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from offset_sync.cutover.judge import Judge
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import Activity, GroupPlan
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.log_check import LogCheck
from offset_sync.model.values import ABSENT, OffsetWrite
from offset_sync.state.group_homes import UnreadLogs
from offset_sync.sync.offset_writer import _Batch
from offset_sync.sync.write_plan import WritePlan
from protections.entry import given, gives, kept_by, no, nothing, protections, seed


class _WaitedFor(threading.Thread):
    def join(self, timeout: float | None = None) -> None:
        super().join()


def _naming_what_is_there(writes: list[OffsetWrite], *rest: Any) -> WritePlan:
    rows, _, previous, _ = rest
    held = [None if each < 0 else each for each in previous[rows].tolist()]
    named = [replace(each, expected_offset=before) for each, before in zip(writes, held, strict=True)]
    return WritePlan(named, *rest)


def _first_seen_now(batch: _Batch, key: Any, found: Any, decided: Any = _Batch._is_to_be_written) -> Any:
    batch._previous.pop(key, None)
    return decided(batch, key, found)


def _counted_before_the_end(logs: UnreadLogs, source: str, *rows: Any, counted: Any = UnreadLogs.may_count) -> Any:
    unread, logs._unread = logs._unread, logs._unread - {source}
    try:
        return counted(logs, source, *rows)
    finally:
        logs._unread = unread


def _asked_unverified(check: LogCheck, *given: Any, ask: Any = LogCheck._ask) -> Any:
    check._asked = check._asked._replace(verify=lambda: None)
    return ask(check, *given)


def _stopped_if_unlisted(clusters: LiveClusters, *given: Any, ask: Any = LiveClusters.activities) -> Any:
    found = ask(clusters, *given)
    return {g: Activity.INACTIVE if each is Activity.UNKNOWN else each for g, each in found.items()}


def _by_what_is_said(clusters: LiveClusters, groups: Any, ask: Any = LiveClusters.partition_statuses) -> Any:
    clusters._decides = False
    return ask(clusters, groups)


def _taken_for_stopped(judge: Judge, plan: GroupPlan, reasons: Any = Judge.source_reasons) -> Any:
    return reasons(judge, replace(plan, here=Activity.INACTIVE) if plan.here is Activity.UNKNOWN else plan)


def _begun_and_kept(checkpoint: Checkpoint, verify: Callable[[], None]) -> None:
    verify()
    checkpoint.repair()


PROTECTIONS = protections(
    # A coordinator does not answer a poll.
    "at the start every group has to answer a poll",
    kept_by("polled_commits.CommitPoller._note_errors", nothing, seed(0, "polls")),
    # A cluster is silent, frozen or resets connections, also at the start.
    "a commit that is no longer the newest when its clusters have answered is left to a later pass",
    kept_by("reconciliation.ReconcilePass._still_due", given(3), "reconciler_passes a_newer_commit_during_our"),
    "a silent cluster is waited for once and then asked in the background",
    kept_by("cluster_metadata.Silence.of", lambda _silence, _alias: (None, frozenset()), "silence a_silent_cluster_is"),
    # A cluster's addresses lead to another one for a while.
    "members that another cluster lists are unknown",
    kept_by("topic_requests.TopicRequests.refuse_others", nothing, "other_clusters members_of_another_cluster_are"),
    "many groups are not read at once from another cluster",
    kept_by("groups_at_once.refuse_other", nothing, "groups_at_once a_cluster_with_another_id"),
    "no write is sent before the id of the cluster is known",
    kept_by(
        "cluster_admin.ClusterAdmin._written",
        lambda _coordinators, client, parts, *limits: client.write(parts, *limits) if parts else [],
        "kafka/coordinators a_write_is_not_sent",
    ),
    "the id of a cluster is kept with its first answer",
    kept_by("cluster_ids._keep", lambda config, _files, found: config.with_ids(config.ids | found), "cluster_ids the"),
    "two names of one cluster are refused",
    kept_by("configuration.same_ids", gives([]), "cluster_ids two_aliases_of_one_cluster"),
    "a query of the index starts only at the cluster that it was at before",
    kept_by("index_parts.verify", nothing, "sync_batch a_query_of_the_index"),
    "a query of commits starts only at the cluster that it was at before",
    kept_by("commit_query.verify", nothing, "sync_batch a_query_of_commits_does"),
    "offsets are neither read from nor written to another cluster",
    kept_by("topic_requests.TopicRequests.refuse_others", nothing, "other_clusters offsets_of_another_cluster_are"),
    "coordinators that did not answer are compared with their log again after a minute",
    kept_by("watches._AGAIN_S", 86_400.0, "coordinator_check a_cluster_that_does_not"),
    "after a micro-batch was read, a new client gets to the same cluster",
    kept_by("log_check.LogCheck._ask", _asked_unverified, "incarnation_check what_new_clients_would_read"),
    "a micro-batch that another cluster has planned is planned again",
    kept_by("checkpoint.Checkpoint.begin", _begun_and_kept, "checkpoint what_another_cluster_planned_is"),
    "a micro-batch that has failed because of another cluster is not repeated",
    kept_by(
        "failing_batches.OtherClusterError",
        type("NoError", (Exception,), {}),
        "query_supervisor a_micro_batch_that_another",
    ),
    # One leader is silent.
    "what was read of a log whose leader is silent since is read again",
    kept_by("log_check.refuse_unknown", nothing, "incarnation_check what_was_read_of_a"),
    "a query is planned without the logs of a silent leader",
    kept_by("checkpoint.Checkpoint.leave_out", gives({}), "checkpoint a_leader_that_is_away"),
    # A cluster cannot be read at the start.
    "what is read on the way to the end of a log does not count before that is reached",
    kept_by("state.group_homes.UnreadLogs.may_count", _counted_before_the_end, "reconciler_passes a_commit_on_the_way"),
    # Brokers are frozen, or down for hours, repeatedly.
    "no request times out inside librdkafka, which would end the process",
    kept_by("topic_requests.LONGEST_S", 15.0, "cluster_admin the_partitions_of_a_silent"),
    "a client without answers is replaced",
    kept_by("topic_requests.TopicRequests._replace_client", no, "cluster_admin a_client_with_abandoned_requests"),
    # A request is applied and its response lost.
    "the target is read again before a write is repeated",
    kept_by(
        "offset_writer._Batch._read",
        lambda batch, deadline, _real=_Batch._read: [*batch.pending] if batch._previous else _real(batch, deadline),
        "offset_writer a_repetition_does_not_overwrite",
    ),
    "a write whose answer was lost and that has arrived is ours",
    kept_by("offset_writer._Batch._is_to_be_written", _first_seen_now, "offset_writer a_write_whose_answer_was"),
    # A group's commit is larger than a batch of __consumer_offsets.
    "a commit is cut into parts that fit into a batch",
    kept_by(
        "requests.CommitParts.of",
        lambda _parts, writes: [each] if (each := [*writes]) else [],
        "kafka/coordinators with_the_default_of_kafka",
    ),
    "what a coordinator refuses as too large is written in smaller parts",
    kept_by("requests.CommitParts.noted", given(2), "kafka/coordinators what_is_refused_is_committed"),
    # A group is moved, reads nothing, and is moved back.
    "a group that still skips is not moved on",
    kept_by("cutover.judge.Judge.list_problems", gives([]), "cutover/skip_read a_group_that_still_skips"),
    # A group is reset while we write.
    "a value of another client is only moved forward",
    kept_by(
        "write_plan.WritePlan",
        _naming_what_is_there,
        "write_plan each_row_is_planned_by",
    ),
    # Describe on a group is missing, or its type is unknown.
    "the members of a group that has offsets and is not listed are unknown",
    kept_by("live_clusters.LiveClusters.activities", _stopped_if_unlisted, "live_clusters a_group_that_is_not"),
    "a planned move of a group whose members are unknown is refused",
    kept_by("cutover.judge.Judge.source_reasons", _taken_for_stopped, "procedure a_group_of_unknown_members"),
    "a group whose members or offsets at the target are not known is not moved",
    kept_by("cutover.judge.Judge.target_reasons", gives(()), "procedure every_reason_not_to"),
    "a group whose answer is withheld is not moved",
    kept_by("cutover.judge.Judge.commit_reasons", gives(()), "procedure every_reason_not_to"),
    # What is moved is what both clusters hold.
    "a move waits until the tables have the positions that both clusters hold",
    kept_by("live_clusters._offset_of", gives(ABSENT), "live_clusters positions_that_the_tables"),
    "a move takes nobody's word for what it commits",
    kept_by(
        "live_clusters.LiveClusters.partition_statuses",
        _by_what_is_said,
        "live_clusters a_plan_shows_what_a_living_driver[True]",
    ),
    "check fails if Describe on a group is missing",
    kept_by("check.judge._refused", gives(()), "findings what_check_finds_is_in"),
    # A right is missing; a search for a password.
    "a refusal names the right to be granted",
    kept_by("requests.missing_right", lambda _what, operation: f"REFUSED: {operation}", "kafka/coordinators an_error"),
    "a secret is not shown",
    kept_by("secret.Secret.__repr__", str.__repr__, "client_options secrets_of_the_section_are"),
    "a client that never closes holds no micro-batch up",
    kept_by("log_reader.threading", SimpleNamespace(Thread=_WaitedFor), "log_reader a_client_that_never_closes"),
)
