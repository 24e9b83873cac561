"""How far the running jobs have read: whether what the tables say is still what the clusters hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.held_commits import HeldCommits
from offset_sync.model.values import GroupPartition
from offset_sync.state.coordinators import coordinator_hashes
from offset_sync.status.assessment import Bools
from offset_sync.translate.index.runs import Int64s


@dataclass(frozen=True)
class StreamLag:
    """What one query has not read of ``__consumer_offsets``, and for how long it has shown no sign of life.

    *unread* are offsets per partition, of *partitions* in all; one that is missing has no leader now, so its lag is
    not known. *silent_ms* is 0 where nothing is unread. *held*, by partition, is what an open transaction holds back:
    no query can read it, and it is not among the *unread*.
    """

    unread: Mapping[int, int] = field(default_factory=dict)
    silent_ms: int = 0
    partitions: int = 0
    held: Mapping[int, HeldCommits] = field(default_factory=dict)


@dataclass(frozen=True)
class JobProgress:
    """Per cluster: *commits* is what sync_offsets has not read of ``__consumer_offsets``, *silent_ms* index_records.

    Of a cluster that is missing nothing is known: it does not answer. *has_sync_ended*: no sync_offsets is running, and
    the last one said that it ended, as after ``--once``.
    """

    commits: Mapping[str, StreamLag] = field(default_factory=dict)
    index_silent_ms: Mapping[str, int] = field(default_factory=dict)
    has_sync_ended: bool = False

    def unread_commits(self, cluster: str, hashes: Int64s) -> tuple[Int64s, Bools]:
        """Return how many offsets of each group's partition are not read yet, and where that is known.

        *hashes* are :func:`coordinator_hashes` of the groups. A cluster without ``__consumer_offsets`` has none unread.
        """
        lag = self.commits.get(cluster)
        if lag is None or not lag.partitions:
            return np.zeros(len(hashes), np.int64), np.full(len(hashes), lag is not None)
        unread, is_known = np.zeros(lag.partitions, np.int64), np.zeros(lag.partitions, np.bool_)
        numbers = [number for number in lag.unread if number < lag.partitions]
        unread[numbers], is_known[numbers] = [lag.unread[number] for number in numbers], True
        partition = hashes % lag.partitions
        return unread[partition], is_known[partition]

    def held_back(self, clusters: Iterable[str], keys: Sequence[GroupPartition]) -> NDArray[np.object_]:
        """Return why the newest commit of each key cannot be read, as an open transaction at one of *clusters* is.

        None where it can, shape (keys,). Errs to a reason: where it is not known what is held back in a partition of
        ``__consumer_offsets``, all groups of that partition wait.
        """
        found = np.full(len(keys), None, np.object_)
        for alias in clusters:
            lag = self.commits.get(alias)
            if lag is None or not lag.held:
                continue
            partitions = coordinator_hashes([key.group_id for key in keys]) % lag.partitions
            for row in np.flatnonzero(np.isin(partitions, list(lag.held))).tolist():
                held = lag.held[int(partitions[row])]
                if found[row] is None and held.may_concern(keys[row]):
                    found[row] = held.reason(alias)
        return found

    def sync_silent_ms(self, source: str, target: str) -> int:
        """Return for how long sync_offsets has stood still at either cluster, with commits to read."""
        return max(self.commits.get(alias, StreamLag()).silent_ms for alias in (source, target))

    def index_still_ms(self, source: str, target: str) -> int:
        """Return for how long index_records has read nothing at one of the clusters, be there anything or not."""
        return max(self.index_silent_ms.get(alias, 0) for alias in (source, target))
