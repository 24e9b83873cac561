"""How far ``index_records`` has read, by its checkpoints and the index; it is another process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import frontier
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
_POLL_S = 0.2


class IndexProgress(NamedTuple):
    """*silent_ms*: for how long nothing was read of a cluster; *unreadable*: why a log cannot be read on."""

    silent_ms: Mapping[str, int]
    unreadable: Mapping[ClusterPartition, str]


class IndexCheckpoints:
    """The checkpoints of ``index_records``."""

    def __init__(self, files: Files, config: Config) -> None:
        kinds = ("",) if config.is_stamped else config.of_extension("checks").CHECKPOINTS
        root = f"{config.tables.checkpoints}/index_records/"
        self._of_cluster = {
            alias: [Checkpoint(files, f"{root}{alias}{kind}", alias, config.names) for kind in kinds]
            for alias in config.clusters
        }

    def read(self, now_ms: int) -> IndexProgress:
        """Return how far it has come; a query that has never finished a batch is not silent."""
        silent_ms, unreadable = dict[str, int](), dict[ClusterPartition, str]()
        for alias, checkpoints in self._of_cluster.items():
            signs = [at_ms for each in checkpoints if (at_ms := each.last_sign_ms()) is not None]
            silent_ms[alias] = max(0, now_ms - max(signs, default=now_ms))
            for each in checkpoints:
                for log, stop in each.unreadable().items():
                    unreadable[ClusterPartition(alias, *log)] = stop.at(f"{each.name_of(log)} at {alias}")
        return IndexProgress(silent_ms, unreadable)


class IndexCatchUp:
    """Waits until the index has read up to the ends that the clusters returned, for *patience_s* seconds at most.

    It does not wait again for a log without progress since.
    """

    def __init__(self, index: RecordIndex, patience_s: float = 5.0, clock: Clock = SYSTEM_CLOCK) -> None:
        self._index, self._patience_s, self._clock = index, patience_s, clock
        self._stuck: dict[ClusterPartition, int] = {}

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when all records below the ends in *metadata* are indexed, or when patience runs out."""
        until = self._clock.now() + self._patience_s
        while (behind := self._behind(metadata)).items() - self._stuck.items():
            if self._clock.now() >= until:
                self._stuck |= behind
                return
            self._clock.pause(_POLL_S)
            self._index.refresh()

    def _behind(self, metadata: MetadataByCluster) -> dict[ClusterPartition, int]:
        """Return the frontiers of the partitions whose index has not reached the ends in *metadata*."""
        with self._index.lock:
            found = {
                (ClusterPartition(alias, *place), ends.log_end): frontier(self._index, alias, place)
                for alias, answer in metadata.items()
                if not isinstance(answer, ClusterError)
                for place, ends in answer.ends.items()
            }
        return {log: indexed for (log, end), indexed in found.items() if indexed < end}
