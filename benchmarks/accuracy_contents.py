"""What contents alone tell of a history's copies, for the accuracy benchmark: rows of the index without any header.

Of one origin's logs only. Each record has one of five values beside its timestamp, as a sensor's reading may have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from workloads import ClusterLog, Workload

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync_contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync_contents.alignment.mirror import Reach, Settings
from offset_sync_contents.alignment.records import Fingerprints, to_runs

_VALUES = 5
_MIX = np.int64(-7046029254386353131)
_SETTINGS = Settings()


def is_of_one_origin(workload: Workload, logs: dict[str, ClusterLog]) -> bool:
    """Return whether contents can tell copies at all: everything is produced at the first cluster, in one life."""
    return workload.recreated is None and all((log.origin == 0).all() for log in logs.values())


def contents_log(logs: dict[str, ClusterLog], cluster: str) -> PartitionLog:
    """Return a log of copies as the product sees it once all that has come is aligned with what the first one has."""
    originals, copies = logs[min(logs)], logs[cluster]
    aligner, index = Aligner(AlignerState(0, Reach(0)), _SETTINGS), LogIndex()
    batch = Batch(_hashed(originals), len(originals.origin), _hashed(copies), len(copies.origin))
    nothing = Fingerprints.of([], [])
    for now_ms in (0, _SETTINGS.hold_ms + 1):
        found = aligner.advance(batch, now_ms)
        index.extend(to_runs(found, 0, 0), aligner.state.frontier)
        batch = batch._replace(originals=nothing, copies=nothing)
    metadata = PartitionMetadata("id", 0, index.frontier, frozenset({"id"}), index.frontier)
    return PartitionLog(index, sorted(logs).index(cluster), metadata)


def _hashed(log: ClusterLog) -> Fingerprints:
    """Return the fingerprint of each record: of its time and its value."""
    scattered = (log.origin_offset + 1) * _MIX
    value: NDArray[np.int64] = ((scattered ^ (scattered >> 31)) * _MIX >> 20) % _VALUES
    return Fingerprints.of(np.arange(len(log.origin)), (log.at_ms * _VALUES + value) * _MIX)
