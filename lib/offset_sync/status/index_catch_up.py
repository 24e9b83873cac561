"""Waits for the index: on a busy topic it is always a moment behind the ends that a cluster names."""

from __future__ import annotations

import threading

from offset_sync.kafka.retry import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.snapshot import Index, MetadataByCluster, frontier

_POLL_S = 0.2
Frontiers = dict[tuple[str, TopicPartition], int]


class CatchUp:
    """Waits until *index* has read all that was there when the clusters were asked, *patience_s* seconds at most.

    A partition that was waited for in vain is not waited for again before its index has moved. *lock* guards the index.
    """

    def __init__(
        self, index: Index, lock: threading.RLock, patience_s: float = 5.0, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._index, self._lock = index, lock
        self._patience_s, self._clock = patience_s, clock
        self._stuck: Frontiers = {}

    def __call__(self, looks: MetadataByCluster) -> None:
        """Return when everything below the ends in *looks* is indexed, or patience is at its end."""
        until, behind = self._clock.now() + self._patience_s, self.behind(looks)
        while behind and any(self._stuck.get(where) != indexed for where, indexed in behind.items()):
            if self._clock.now() >= until:
                self._stuck |= behind
                return
            self._clock.pause(_POLL_S)
            self._index.refresh()
            behind = self.behind(looks)

    def behind(self, looks: MetadataByCluster) -> Frontiers:
        """Return the frontiers of the partitions whose index has not reached the ends in *looks*."""
        asked = [(alias, look) for alias, look in looks.items() if not isinstance(look, ClusterError)]
        with self._lock:
            found = {
                (alias, place): (frontier(self._index, alias, place), ends.log_end)
                for alias, look in asked
                for place, ends in look.ends.items()
            }
        return {where: indexed for where, (indexed, end) in found.items() if indexed < end}
