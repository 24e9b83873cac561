"""How far ``index_records`` has read, by its checkpoints, the table of drivers and the index; it is another process."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.lease import to_claims, unended
from offset_sync.state.sync_state import SyncState, frontier
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_POLL_S = 0.2
JOB = "index_records"


class IndexProgress(NamedTuple):
    """*silent_ms*: for how long nothing was read of a cluster; *unreadable*: why a log cannot be read on."""

    silent_ms: Mapping[str, int]
    unreadable: Mapping[ClusterPartition, str]


class IndexCheckpoints:
    """The checkpoints of ``index_records``."""

    def __init__(self, files: Files, config: Config) -> None:
        kinds = ("",) if config.is_stamped else config.of_extension("checks").CHECKPOINTS
        root = f"{config.tables.checkpoints}/{JOB}/"
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


def process_exists(pid: int) -> bool:
    """Return whether this machine has a process with that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def is_running(tables: TableStore, job: str) -> bool:
    """Return whether a driver of *job* may be running. Errs to True: one on another machine is not checked."""
    left = unended(to_claims(tables.all_rows(DRIVERS)), job, None)
    return bool(left) and (left[-1].host != socket.gethostname() or process_exists(left[-1].pid))


class IndexCatchUp:
    """Waits until the index has read up to the ends that the clusters returned, for *patience_s* seconds at most.

    It does not wait again for a log without progress since, nor while no index_records runs, by *is_indexing*.
    """

    def __init__(
        self,
        state: SyncState,
        patience_s: float = 5.0,
        clock: Clock = SYSTEM_CLOCK,
        is_indexing: Callable[[], bool] = lambda: True,
    ) -> None:
        self._state, self._is_indexing = state, is_indexing
        self._patience_s, self._clock = patience_s, clock
        self._stuck: dict[ClusterPartition, int] = {}

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when all records below the ends in *metadata* are indexed, or when patience runs out."""
        until = self._clock.now() + self._patience_s
        while (behind := self._behind(metadata)).items() - self._stuck.items() and self._is_indexing():
            if self._clock.now() >= until:
                self._stuck |= behind
                return
            self._clock.pause(_POLL_S)
            self._state.index.refresh()

    def _behind(self, metadata: MetadataByCluster) -> dict[ClusterPartition, int]:
        """Return the frontiers of the partitions whose index has not reached the ends in *metadata*."""
        with self._state.lock:
            found = {
                (ClusterPartition(alias, *place), ends.log_end): frontier(self._state.index, alias, place)
                for alias, answer in metadata.items()
                if not isinstance(answer, ClusterError)
                for place, ends in answer.ends.items()
            }
        return {log: indexed for (log, end), indexed in found.items() if indexed < end}
