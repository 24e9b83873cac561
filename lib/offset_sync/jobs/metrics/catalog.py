"""Every metric: name, kind, labels and help. The contract with dashboards, alert rules and docs/metrics.md.

Labels are bounded: aliases of clusters, words of ``model.values``, and the ``metrics.worst`` worst groups and topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "histogram"]


@dataclass(frozen=True)
class Metric:
    """A metric; *labels* in the order in which their values are given, *buckets* of a histogram only."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


def _metric(line: str, kind: Kind = "gauge", buckets: tuple[float, ...] = ()) -> Metric:
    """Return the metric that ``name | labels | help`` describes."""
    name, labels, text = (part.strip() for part in line.split("|"))
    return Metric(f"offset_sync_{name}", kind, tuple(labels.replace(",", " ").split()), text, buckets)


_LATENCIES = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_DURATIONS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)

BUILD_INFO = _metric("build_info | part, version | 1; which job answers here, and its version")

READY = _metric("ready | | 1 once every cluster's commits have been read to their end; before, nothing is synced")
QUERY_UP = _metric(
    "query_up | cluster | 1 while the cluster's commits are read; 0: reading failed and will be restarted"
)
QUERY_STARTS = _metric(
    "query_starts_total | cluster | times the reading of the cluster's commits was started", "counter"
)
BATCH_SECONDS = _metric(
    "batch_seconds | cluster | duration of micro-batches of commits, written history included", "histogram", _DURATIONS
)
BATCH_RUNNING = _metric("batch_running_seconds | cluster | for how long the micro-batch in hand has run; 0: none does")
RECORDS = _metric(
    "records_total | cluster, kind | records of __consumer_offsets read: genuine or own commits, or malformed, which "
    "are in quarantine",
    "counter",
)
RECONCILE_AGE = _metric("reconcile_age_seconds | | since the last reconcile pass that ended, or since the start")
RECONCILE_SECONDS = _metric("reconcile_seconds | | duration of reconcile passes that ended", "histogram", _DURATIONS)
HISTORY_UP = _metric("history_up | | 1 unless rows wait that offset_translations could not take")

POSITIONS = _metric(
    "positions | source, target, outcome | group partitions by what became of their newest commit; PENDING: not "
    "answered yet"
)
ANSWERS = _metric("answers | source, target, state | group partitions that have an answer, by how good it is")
WITHHELD = _metric("withheld | source, target, reason | group partitions that have none, by reason")
STALENESS = _metric(
    "staleness_seconds | source, target, outcome | age of the oldest commit that the target does not have, by why; 0: "
    "it has all"
)
CLOCK_AHEAD = _metric(
    "cluster_clock_ahead_seconds | cluster | how far the clock of the cluster's brokers is ahead of ours, negative: "
    "behind; measured while its commits are read live"
)
DUPLICATES = _metric("duplicates | source, target | records that all groups together would read again if moved now")
DUPLICATES_AT_MOST = _metric("duplicates_at_most | source, target | duplicates, counting what may have been read")
DUPLICATES_WORST = _metric("duplicates_worst | source, target | duplicates of the group partition with the most")
LOST = _metric("lost | source, target | unread records that the target has deleted and the source has not")
GROUP_STALENESS = _metric(
    "group_staleness_seconds | source, target, outcome, group_id | age of the oldest commit that the target does not "
    "have, of the worst groups"
)
GROUP_DUPLICATES = _metric(
    "group_duplicates | source, target, group_id | records that a group would read again if moved now, of the worst"
)
OUTCOMES_TOTAL = _metric(
    "outcomes_total | source, target, outcome | what became of answers; one that is given again counts again", "counter"
)
DISORDERED = _metric(
    "timestamp_disordered_total | source, target | answers by timestamp with a larger timestamp in front of the commit",
    "counter",
)
LATENCY = _metric(
    "commit_latency_seconds | source, target | from a commit at the source until the target acknowledged its "
    "translation; a commit that came before this could be heard is not counted",
    "histogram",
    _LATENCIES,
)

CLUSTER_UP = _metric("cluster_up | cluster | 1 if the cluster said how far its logs reach when it was asked last")
INDEX_PARTITIONS = _metric("index_partitions | cluster | partitions in the record index")
INDEX_RECORDS = _metric("index_offsets | cluster | offsets that the record index covers; its rate is that of indexing")
INDEX_RUNS = _metric("index_runs | cluster | runs in the record index, in memory and in sealed files of the table")
INDEX_UNKNOWN = _metric(
    "index_unknown_records | cluster | records of unknown origin in the index, unread by everyone: unreadable headers, "
    "or left out by a new checkpoint"
)
INDEX_BEHIND = _metric("index_behind_records | cluster | offsets that can be read and are not in the index yet")
INDEX_BEHIND_SECONDS = _metric(
    "index_behind_seconds | cluster | for how long at least the oldest offset not in the index waits"
)
STALLED_PARTITIONS = _metric(
    "log_stalled_partitions | cluster | partitions whose last stable offset stands still while they grow: an open "
    "transaction"
)
STALLED_SECONDS = _metric(
    "log_stalled_seconds | cluster, topic | for how long the last stable offset of a topic stands still, of the worst; "
    "__consumer_offsets too"
)

REPORT_AGE = _metric("report_age_seconds | | since the last report, or since the start")
REPORT_POSITIONS = _metric("report_positions | source, target, status | group partitions by status")
REPORT_WITHHELD = _metric("report_withheld | source, target, reason | group partitions with status Withheld, by reason")
REPORT_STALENESS = _metric(
    "report_staleness_seconds | source, target | for how long at most a target has not had a commit's translation"
)
REPORT_DUPLICATES = _metric("report_duplicates | source, target | records that all groups together would read again")
REPORT_DUPLICATES_WORST = _metric(
    "report_duplicates_worst | source, target | records that the group partition with the most would read again"
)
REPORT_UNKNOWN = _metric("report_unknown | source, target | group partitions for which nobody can tell the duplicates")
REPORT_LOST = _metric(
    "report_lost | source, target, why | unread records that groups would never see if moved now: not_mirrored yet, or "
    "deleted at the target"
)
REPORT_MIRROR_LAG = _metric(
    "report_mirror_lag_records | source, target, origin | records at the source that the target does not have yet"
)
REPORT_MIRROR_SECONDS = _metric(
    "report_mirror_lag_seconds | source, target | age of the oldest record not mirrored yet"
)
REPORT_MIRROR_GAPS = _metric(
    "report_mirror_gaps | source, target | records at the target that the source lacks though it has later ones"
)
REPORT_DRIFT = _metric(
    "report_drift | source, target | f - g of the pair: offsets at the source less those at the target"
)
REPORT_WINDOWED = _metric("report_windowed_drift | source, target | change of f - g over status.drift_window")
REPORT_CONVERGED = _metric(
    "report_drift_converged | source, target | 1 while the windowed drift is within its threshold"
)
REPORT_DIVERGED = _metric(
    "report_groups_not_converged | source, target | groups whose windowed drift is beyond its threshold"
)
REPORT_GROUP_DUPLICATES = _metric(
    "report_group_duplicates | source, target, group_id | records that a group would read again, of the worst"
)
REPORT_GROUP_LOST = _metric(
    "report_group_lost | source, target, group_id | records that a group would never see, of the worst"
)
REPORT_GROUP_STALENESS = _metric(
    "report_group_staleness_seconds | source, target, group_id | for how long the target has not had a group's commit, "
    "of the worst"
)

POSITION_METRICS = (
    POSITIONS,
    ANSWERS,
    WITHHELD,
    STALENESS,
    CLOCK_AHEAD,
    DUPLICATES,
    DUPLICATES_AT_MOST,
    DUPLICATES_WORST,
    LOST,
    GROUP_STALENESS,
    GROUP_DUPLICATES,
)
JOB_METRICS = (
    READY,
    QUERY_UP,
    QUERY_STARTS,
    BATCH_SECONDS,
    BATCH_RUNNING,
    RECORDS,
    RECONCILE_AGE,
    RECONCILE_SECONDS,
    HISTORY_UP,
    OUTCOMES_TOTAL,
    DISORDERED,
    LATENCY,
)
INDEX_METRICS = (INDEX_PARTITIONS, INDEX_RECORDS, INDEX_RUNS, INDEX_UNKNOWN)
LOG_METRICS = (CLUSTER_UP, INDEX_BEHIND, INDEX_BEHIND_SECONDS, STALLED_PARTITIONS, STALLED_SECONDS)
REPORT_METRICS = (
    REPORT_AGE,
    REPORT_POSITIONS,
    REPORT_WITHHELD,
    REPORT_STALENESS,
    REPORT_DUPLICATES,
    REPORT_DUPLICATES_WORST,
    REPORT_UNKNOWN,
    REPORT_LOST,
    REPORT_MIRROR_LAG,
    REPORT_MIRROR_SECONDS,
    REPORT_MIRROR_GAPS,
    REPORT_DRIFT,
    REPORT_WINDOWED,
    REPORT_CONVERGED,
    REPORT_DIVERGED,
    REPORT_GROUP_DUPLICATES,
    REPORT_GROUP_LOST,
    REPORT_GROUP_STALENESS,
)
OF_SYNC_OFFSETS = (BUILD_INFO, *JOB_METRICS, *POSITION_METRICS, *INDEX_METRICS, *LOG_METRICS)
OF_REPORT_STATUS = (BUILD_INFO, *REPORT_METRICS)
CATALOGUE = tuple(dict.fromkeys((*OF_SYNC_OFFSETS, *OF_REPORT_STATUS)))
