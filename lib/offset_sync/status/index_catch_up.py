"""Waits for the index: on a busy topic it is always a moment behind the ends that a cluster names."""

from __future__ import annotations

import logging
from collections.abc import Callable

from offset_sync.kafka.retry import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.snapshot import MetadataByCluster, frontier
from offset_sync.state.sync_state import SyncState

logger = logging.getLogger(__name__)
_POLL_S = 0.2


class IndexCatchUp:
    """Waits until the index has read all that was there when the clusters were asked, *patience_s* seconds at most.

    A partition that was waited for in vain is not waited for again before its index has moved; and nothing is waited
    for where nobody indexes, by *is_indexing*.
    """

    def __init__(
        self,
        state: SyncState,
        patience_s: float = 5.0,
        clock: Clock = SYSTEM_CLOCK,
        is_indexing: Callable[[], bool] = lambda: True,
    ) -> None:
        self._state, self._patience_s, self._clock = state, patience_s, clock
        self._is_indexing = is_indexing
        self._stuck: dict[ClusterPartition, int] = {}
        self._has_said = False

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when everything below the ends in *metadata* is indexed, or patience is at its end."""
        until, behind = self._clock.now() + self._patience_s, self._behind(metadata)
        while any(self._stuck.get(partition) != indexed for partition, indexed in behind.items()):
            if self._clock.now() >= until or not self._is_indexing():
                self._stuck |= behind
                return
            self._say_once(len(behind))
            self._clock.pause(_POLL_S)
            self._state.index.refresh()
            behind = self._behind(metadata)

    def _say_once(self, partitions: int) -> None:
        """Tell a person who waits what for; a report every minute does not repeat it."""
        if not self._has_said:
            logger.info("waiting for the index of %d partitions, at most %.0f s", partitions, self._patience_s)
        self._has_said = True

    def _behind(self, metadata: MetadataByCluster) -> dict[ClusterPartition, int]:
        """Return the frontiers of the partitions whose index has not reached the ends in *metadata*."""
        behind = {}
        with self._state.lock:
            for alias, answer in metadata.items():
                if isinstance(answer, ClusterError):
                    continue
                for topic_partition, ends in answer.ends.items():
                    indexed = frontier(self._state.index, alias, topic_partition)
                    if indexed < ends.log_end:
                        behind[ClusterPartition(alias, *topic_partition)] = indexed
        return behind
