"""What the product's index makes of a history's logs: read in micro-batches, and cut where a topic was recreated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from accuracy_headers import told_by_headers
from workloads import ClusterLog, Workload

from offset_sync.ingest.run_builder import cut_runs
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata

_MICRO_BATCH_S = 0.1


def partition_log(log: ClusterLog, origin: int, workload: Workload) -> PartitionLog:
    """Return a log as the product sees it once everything that has come is indexed."""
    index = index_of(log, origin, workload)
    metadata = PartitionMetadata("id", 0, index.frontier, frozenset({"id"}), index.frontier)
    return PartitionLog(index, origin, metadata)


def bounds_of(workload: Workload) -> Bounds:
    """Return what counts as too young at the end of the history."""
    return Bounds(young_since_ms=int((workload.seconds - workload.grace) * 1000) if workload.grace else 0)


def index_of(log: ClusterLog, origin: int, workload: Workload) -> LogIndex:
    """Return the record index of a log, with its timestamps; *origin* is its own code."""
    offset, (told, told_offset) = np.arange(len(log.origin)), told_by_headers(log, origin, workload)
    index, times = LogIndex(), TimeIndex()
    by_time = cut_runs(offset, log.at_ms, told, told_offset, split_on_timestamp=True)
    times.extend(by_time.start_offset, by_time.length, by_time.min_timestamp_ms, by_time.max_timestamp_ms)
    read_ms = (np.ceil(log.time / _MICRO_BATCH_S) * _MICRO_BATCH_S * 1000).astype(np.int64)
    runs = cut_runs(offset, read_ms, told, told_offset, split_on_timestamp=bool(workload.grace))
    indexed_ms = runs.min_timestamp_ms if workload.grace else np.zeros(len(runs.start_offset), np.int64)
    found = Runs.of(runs.start_offset, runs.length, runs.origin_code, runs.origin_start, indexed_ms)
    index.extend(_cut(found, log, workload), len(offset))
    index.times = times
    return index


def _cut(runs: Runs, log: ClusterLog, workload: Workload) -> Runs:
    """Return *runs* without the origin of copies whose topic was recreated since, as a cut leaves them."""
    if workload.recreated is None:
        return runs
    cluster, share = workload.recreated
    is_copy = np.asarray(runs.origin == sorted(workload.clusters).index(cluster))
    made_s = share * workload.seconds
    # Copies that came before the log is known to get no former ones any more are of unknown origin.
    settled_from = int(np.searchsorted(log.time, made_s + _MICRO_BATCH_S + workload.grace))
    is_unknown = is_copy & (runs.start < settled_from)
    origin = np.where(is_unknown, UNKNOWN_ORIGIN, runs.origin).astype(np.int32)
    return replace(runs, origin=origin, origin_start=np.where(is_unknown, runs.start, runs.origin_start))
