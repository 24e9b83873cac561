"""What the product's index makes of a history's logs: read in micro-batches, with lives of logs told apart."""

from __future__ import annotations

import numpy as np
from accuracy_headers import told_by_headers
from offset_sync.translate.index.incarnations import Incarnation, split_by_incarnation
from workloads import ClusterLog, Workload

from offset_sync.ingest.run_builder import cut_runs
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata

_MICRO_BATCH_S = 0.1
_FORMER = 100
"""Origins of a former life have this added to their codes."""


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
    index.extend(_told_apart(found, log, workload), len(offset))
    index.times = times
    return index


def _told_apart(runs: Runs, log: ClusterLog, workload: Workload) -> Runs:
    """Return *runs* with another origin where a topic was recreated since, as the product tells them apart."""
    if workload.recreated is None:
        return runs
    cluster, share = workload.recreated
    is_copy = np.asarray(runs.origin == sorted(workload.clusters).index(cluster))
    made_s = share * workload.seconds
    # The micro-batch that is the first to read after that notices it, and bears a later time.
    life = Incarnation(0, int(made_s * 1000), "another", is_recreated=True)
    settled_from = int(np.searchsorted(log.time, made_s + _MICRO_BATCH_S + workload.grace))
    told, former = split_by_incarnation(runs.take(is_copy), [life], [settled_from])
    origin = np.where(former < 0, told.origin + _FORMER, told.origin).astype(np.int32)
    apart = Runs(told.start, told.length, origin, told.origin_start, told.indexed_at_ms)
    whole = runs.take(~is_copy).followed_by(apart)
    return whole.take(np.argsort(whole.start, kind="stable"))
