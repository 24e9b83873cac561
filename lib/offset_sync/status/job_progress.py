"""How far the running jobs have read, by their checkpoints and the table of drivers; they may run in other processes.

A backlog is waited for, but only for a moment, and only if the job is running.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.ingest.checkpoint import Checkpoint, commit_checkpoint
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.text import to_duration
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, GroupPartition, TopicPartition
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.lease import Claim, to_claims, unended
from offset_sync.state.sync_state import SyncState, frontier
from offset_sync.status.cluster_queries import ClusterQueries
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_POLL_S = 0.2
Bools = NDArray[np.bool_]
_SYNC = "sync_offsets"
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class StreamLag:
    """The backlog of one query on ``__consumer_offsets``.

    *unread* are offsets per partition, of *partitions* in all; a missing partition has no leader now, so its lag is
    unknown. *held* says of partitions that an open transaction holds commits back: no query can read them, and they are
    not among the *unread*. Where commits are polled no backlog is known.
    """

    unread: Mapping[int, int] = field(default_factory=dict)
    partitions: int = 0
    held: Mapping[int, str] = field(default_factory=dict)
    is_polled: bool = False


@dataclass(frozen=True)
class JobProgress:
    """Per cluster: *commits*, the backlog of sync_offsets, and *index_silent_ms*, the silence of index_records.

    A cluster missing in *commits* does not answer. *unreadable* says of logs why index_records cannot read them on.
    """

    commits: Mapping[str, StreamLag] = field(default_factory=dict)
    index_silent_ms: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[ClusterPartition, str] = field(default_factory=dict)

    def unindexed(self, clusters: Iterable[str], keys: Sequence[GroupPartition]) -> NDArray[np.object_]:
        """Return why the log of each key at one of *clusters* cannot be read on; None where it can; shape (keys,)."""
        logs = ([ClusterPartition(alias, *key.topic_partition) for alias in clusters] for key in keys)
        return np.array([next(filter(None, map(self.unreadable.get, each)), None) for each in logs], object)

    def unread_commits(self, cluster: str, hashes: Int64s) -> tuple[Int64s, Bools]:
        """Return how many offsets of each group's commit log partition are unread, and where that is known.

        *hashes* are :func:`coordinator_hashes` of the groups. A cluster without ``__consumer_offsets`` has none unread.
        """
        lag = self.commits.get(cluster)
        if lag is None or not lag.partitions:
            return np.zeros(len(hashes), np.int64), np.full(len(hashes), lag is not None and not lag.is_polled)
        unread, is_known = np.zeros(lag.partitions, np.int64), np.zeros(lag.partitions, np.bool_)
        numbers = [number for number in lag.unread if number < lag.partitions]
        unread[numbers], is_known[numbers] = [lag.unread[number] for number in numbers], True
        partition = hashes % lag.partitions
        return unread[partition], is_known[partition]

    def held_back(self, clusters: Iterable[str], keys: Sequence[GroupPartition]) -> NDArray[np.object_]:
        """Return in which partition at *clusters* an open transaction may hold back commits of each key; shape (keys,).

        None for none. Errs to a reason: all groups of a partition of ``__consumer_offsets`` that it holds back wait.
        """
        found = np.full(len(keys), None, np.object_)
        for alias in clusters:
            lag = self.commits.get(alias)
            if lag is None or not lag.held:
                continue
            partitions = coordinator_hashes([key.group_id for key in keys]) % lag.partitions
            for row in np.flatnonzero(np.isin(partitions, list(lag.held))).tolist():
                found[row] = found[row] or lag.held[int(partitions[row])]
        return found

    def index_still_ms(self, source: str, target: str) -> int:
        """Return for how long index_records has read nothing at one of the clusters, with or without a backlog."""
        return max(self.index_silent_ms.get(alias, 0) for alias in (source, target))


def process_exists(pid: int) -> bool:
    """Return whether this machine has a process with that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


class RunningJobs:
    """Reads the drivers of each job, again with every new version of the table."""

    def __init__(self, tables: TableStore, is_alive: Callable[[int], bool] = process_exists) -> None:
        self._tables, self._is_alive = tables, is_alive
        self._version: int | None = None
        self._claims: list[Claim] = []

    def is_running(self, job: str) -> bool:
        """Return whether a driver of *job* may be running. Errs to True: one on another machine is not checked."""
        holder = self._holder(job)
        return holder is not None and (holder.host != socket.gethostname() or self._is_alive(holder.pid))

    def _holder(self, job: str) -> Claim | None:
        """Return the last driver of *job*, None if it has recorded its end."""
        rows, self._version = self._tables.rows_since(DRIVERS, self._version)
        self._claims += to_claims(rows)
        return next(reversed(unended(self._claims, job, None)), None)


class Patience:
    """Waits for a job's backlog, *patience_s* seconds at most; but not again for a log without progress since.

    *text*, which describes the backlog, is logged once: a report every minute does not repeat it.
    """

    def __init__(self, text: str, patience_s: float, clock: Clock) -> None:
        self._text, self._patience_s, self._clock = text, patience_s, clock
        self._stuck: dict[Hashable, int | None] = {}
        self._has_said = False

    def wait(
        self,
        behind: Callable[[], Mapping[Hashable, int | None]],
        is_running: Callable[[], bool],
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        """Return once no log is *behind* (a map from log to its progress), or the job is not running.

        *refresh* is called before each further check.
        """
        until, left = self._clock.now() + self._patience_s, behind()
        while any(key not in self._stuck or self._stuck[key] != read for key, read in left.items()) and is_running():
            if self._clock.now() >= until:
                self._stuck |= left
                return
            if not self._has_said:
                logger.info("waiting for %s, at most %.0f s", self._text, self._patience_s)
                self._has_said = True
            self._clock.pause(_POLL_S)
            refresh()
            left = behind()


class CheckpointProgress:
    """Reads the checkpoints of sync_offsets and index_records; compares them with the ends of ``__consumer_offsets``.

    On a busy cluster some commit is always unread. So only commits below the ends first returned are waited for, with
    :class:`Patience`, if a sync_offsets is among the running *jobs*.
    """

    def __init__(
        self,
        files: Files,
        config: Config,
        clusters: ClusterQueries,
        jobs: RunningJobs,
        patience_s: float = 5.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clusters, self._jobs = clusters, jobs
        self._patience = Patience("sync_offsets to read all commits", patience_s, clock)
        self._still: dict[tuple[str, int], tuple[int, int]] = {}  # last stable offsets, and since when they are known
        self._polled = config.polled()
        root = config.tables.checkpoints
        self._sync = {alias: commit_checkpoint(files, config, alias) for alias in config.clusters}
        kinds = ("",) if config.is_stamped else config.of_extension("checks").CHECKPOINTS
        index = f"{root}/index_records/"
        self._index = {
            alias: [Checkpoint(files, f"{index}{alias}{kind}", alias, config.names) for kind in kinds]
            for alias in config.clusters
        }

    def read(self, now_ms: int) -> JobProgress:
        """Return how far the jobs have read; a query that has never finished a batch has read nothing."""
        asked = self._of_each(self._sync, self._clusters.commit_log_ends)
        ends = {alias: each for alias, each in asked.items() if not isinstance(each, ClusterError)}
        self._patience.wait(lambda: self._behind(ends), lambda: self._jobs.is_running(_SYNC))
        lags = self._of_each(ends, lambda alias: self._lag(alias, ends[alias], now_ms))
        return replace(self.of_index(now_ms), commits=lags)

    def of_index(self, now_ms: int) -> JobProgress:
        """Return the same of index_records alone; asks no cluster."""
        silent = self._of_each(self._index, lambda alias: _silent_ms(self._index[alias], now_ms))
        return JobProgress(index_silent_ms=silent, unreadable=self._unreadable())

    def _unreadable(self) -> dict[ClusterPartition, str]:
        every = [(alias, each) for alias, checkpoints in self._index.items() for each in checkpoints]
        return {
            ClusterPartition(alias, *log): stop.at(f"{each.name_of(log)} at {alias}")
            for alias, each in every
            for log, stop in each.unreadable().items()
        }

    def _of_each(self, aliases: Collection[str], look: Callable[[str], _Found]) -> dict[str, _Found]:
        """Return what *look* returns for each cluster, in parallel."""
        with ThreadPoolExecutor(len(self._sync)) as pool:
            return dict(zip(aliases, pool.map(look, aliases), strict=True))

    def _lag(self, alias: str, ends: Sequence[int | None], now_ms: int) -> StreamLag:
        checkpoint = self._sync[alias]
        if alias in self._polled:
            return StreamLag(is_polled=True)
        last = checkpoint.last_committed()
        unread = _unread(checkpoint, last, ends)
        held = self._held(alias, ends, unread)
        if held:
            unread = _unread(checkpoint, last, [held.get(number, end) for number, end in enumerate(ends)])
        reasons = {number: self._reason(alias, number, stable, now_ms) for number, stable in held.items()}
        return StreamLag(unread, len(ends), reasons)

    def _held(self, alias: str, ends: Sequence[int | None], unread: Mapping[int, int]) -> dict[int, int]:
        """Return the last stable offsets that are below *ends*, of partitions that are *unread*."""
        stable = self._clusters.stable_ends(alias) if any(unread.values()) else {}
        return {
            number: stable[number] for number in unread if number in stable and stable[number] < (ends[number] or 0)
        }

    def _reason(self, alias: str, number: int, stable: int, now_ms: int) -> str:
        """Return where an open transaction holds commits back, and for how long this process has seen it."""
        before, since_ms = self._still.get((alias, number), (stable, now_ms))
        self._still[alias, number] = stable, since_ms if before == stable else now_ms
        lasted = to_duration(now_ms - self._still[alias, number][1])
        return Reason.HELD_BACK(stable, CONSUMER_OFFSETS, number, alias, lasted)

    def _behind(self, ends: Mapping[str, Sequence[int | None]]) -> dict[Hashable, int | None]:
        """Return the last finished batch of each query with a backlog; None: it has finished none."""

        def look(alias: str) -> tuple[int | None, bool]:
            last = self._sync[alias].last_committed()
            return last, any(_unread(self._sync[alias], last, ends[alias]).values())

        return {alias: last for alias, (last, is_behind) in self._of_each(ends, look).items() if is_behind}


def _unread(checkpoint: Checkpoint, batch_id: int | None, ends: Sequence[int | None]) -> dict[int, int]:
    done = checkpoint.end_offsets(batch_id) if batch_id is not None and ends else {}
    return {
        number: max(0, end - done.get(TopicPartition(CONSUMER_OFFSETS, number), 0))
        for number, end in enumerate(ends)
        if end is not None
    }


def _silent_ms(checkpoints: Sequence[Checkpoint], now_ms: int) -> int:
    """Return for how long no query has made progress; 0 where none ever has."""
    signs = [at_ms for each in checkpoints if (at_ms := each.last_sign_ms()) is not None]
    return max(0, now_ms - max(signs)) if signs else 0


class IndexCatchUp:
    """Waits with :class:`Patience` until the index has read up to the ends that the clusters returned.

    It does not wait while no index_records runs, by *is_indexing*.
    """

    def __init__(
        self,
        state: SyncState,
        patience_s: float = 5.0,
        clock: Clock = SYSTEM_CLOCK,
        is_indexing: Callable[[], bool] = lambda: True,
    ) -> None:
        self._state, self._is_indexing = state, is_indexing
        self._patience = Patience("index_records to read all records", patience_s, clock)

    def wait(self, metadata: MetadataByCluster) -> None:
        """Return when all records below the ends in *metadata* are indexed, or when patience runs out."""
        self._patience.wait(lambda: self._behind(metadata), self._is_indexing, self._state.index.refresh)

    def _behind(self, metadata: MetadataByCluster) -> dict[Hashable, int | None]:
        """Return the frontiers of the partitions whose index has not reached the ends in *metadata*."""
        behind: dict[Hashable, int | None] = {}
        with self._state.lock:
            for alias, answer in metadata.items():
                if isinstance(answer, ClusterError):
                    continue
                for topic_partition, ends in answer.ends.items():
                    indexed = frontier(self._state.index, alias, topic_partition)
                    if indexed < ends.log_end:
                        behind[ClusterPartition(alias, *topic_partition)] = indexed
        return behind
