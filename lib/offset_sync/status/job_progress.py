"""How far the running jobs have got, read from their checkpoints; they may run in other processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.model.errors import ClusterError
from offset_sync.model.held_commits import HeldCommits
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.status.stream_lag import JobProgress, StreamLag
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
_POLL_S = 0.1
_SYNC = "sync_offsets"


class CommitLogs(Protocol):
    """The logs of ``__consumer_offsets``, as :class:`ClusterQueries` asks for them."""

    def commit_log_ends(self, alias: str) -> Sequence[int | None] | ClusterError:
        """Return the log end of each partition, None of one without a leader; empty: the topic does not exist."""

    def held_commits(self, alias: str, partitions: Collection[int]) -> Mapping[int, HeldCommits]:
        """Return what open transactions hold back in *partitions*; those without any, or not known, are left out."""


class Jobs(Protocol):
    """Which jobs run, see :class:`offset_sync.status.running_jobs.RunningJobs`."""

    def has_ended(self, job: str) -> bool:
        """Return whether the last driver of *job* said that it ended."""

    def is_running(self, job: str) -> bool:
        """Return whether a driver of *job* may be at work."""


class CheckpointProgress:
    """Reads the checkpoints of sync_offsets and index_records, and compares them with the ends of *commit_logs*.

    On a busy cluster some commit is always unread. So what was there when the ends were asked is waited for, for
    *patience_s* seconds, but not again for a query that has not moved since it was waited for in vain, and not where
    no sync_offsets is among the running *jobs*.
    """

    def __init__(
        self, files: Files, config: Config, commit_logs: CommitLogs, jobs: Jobs, patience_s: float = 5.0
    ) -> None:
        self._commit_logs, self._jobs = commit_logs, jobs
        self._patience_s = patience_s
        root = config.tables.checkpoints
        self._sync = {alias: Checkpoint(files, f"{root}/{_SYNC}/{alias}") for alias in config.clusters}
        # Where contents tell what a copy is one query reads originals and another one copies.
        kinds = (".originals", ".copies") if config.is_by_contents else ("",)
        index = f"{root}/index_records/"
        self._index = {
            alias: [Checkpoint(files, f"{index}{alias}{kind}") for kind in kinds] for alias in config.clusters
        }
        self._stuck_at: dict[str, int | None] = {}
        self._has_said = False

    def read(self, now_ms: int) -> JobProgress:
        """Return how far the jobs have read; a query that has never finished a batch has read nothing."""
        asked = {alias: self._commit_logs.commit_log_ends(alias) for alias in self._sync}
        ends = {alias: each for alias, each in asked.items() if not isinstance(each, ClusterError)}
        if self._jobs.is_running(_SYNC):
            self._wait(ends)
        silent = {alias: _silent_ms(checkpoints, now_ms) for alias, checkpoints in self._index.items()}
        lags = {alias: self._lag(alias, each, now_ms) for alias, each in ends.items()}
        return JobProgress(lags, silent, self._jobs.has_ended(_SYNC))

    def _lag(self, alias: str, ends: Sequence[int | None], now_ms: int) -> StreamLag:
        checkpoint = self._sync[alias]
        last = checkpoint.last_committed()
        unread = _unread(checkpoint, last, ends)
        held = self._held(alias, ends, unread)
        if held:
            readable = list(ends)
            for number, each in held.items():
                readable[number] = each.stable
            unread = _unread(checkpoint, last, readable)
        silent_ms = _silent_ms([checkpoint], now_ms) if any(unread.values()) else 0
        return StreamLag(unread, silent_ms, len(ends), held)

    def _held(self, alias: str, ends: Sequence[int | None], unread: Mapping[int, int]) -> Mapping[int, HeldCommits]:
        """Return what is held back of what was there when the *ends* were asked, where that is *unread*."""
        behind = [number for number, count in unread.items() if count]
        found = self._commit_logs.held_commits(alias, behind) if behind else {}
        return {number: each for number, each in found.items() if each.stable < (ends[number] or 0)}

    def _wait(self, ends: Mapping[str, Sequence[int | None]]) -> None:
        until, behind = time.monotonic() + self._patience_s, self._behind(ends)
        while any(alias not in self._stuck_at or self._stuck_at[alias] != batch for alias, batch in behind.items()):
            if time.monotonic() >= until:
                break
            if not self._has_said:
                clusters = ", ".join(behind)
                logger.info("waiting for sync_offsets to read %s, at most %.0f s", clusters, self._patience_s)
                self._has_said = True
            time.sleep(_POLL_S)
            behind = self._behind(ends)
        self._stuck_at = behind

    def _behind(self, ends: Mapping[str, Sequence[int | None]]) -> dict[str, int | None]:
        """Return the last finished batch of each query that has not read everything; None: it has finished none."""
        last = {alias: self._sync[alias].last_committed() for alias in ends}
        return {
            alias: last[alias] for alias in ends if any(_unread(self._sync[alias], last[alias], ends[alias]).values())
        }


def _unread(checkpoint: Checkpoint, batch_id: int | None, ends: Sequence[int | None]) -> dict[int, int]:
    done = checkpoint.end_offsets(batch_id) if batch_id is not None else {}
    return {
        number: max(0, end - done.get((CONSUMER_OFFSETS, number), 0))
        for number, end in enumerate(ends)
        if end is not None
    }


def _silent_ms(checkpoints: Sequence[Checkpoint], now_ms: int) -> int:
    """Return for how long no query has moved; of one that never has nobody can tell."""
    signs = [at_ms for each in checkpoints if (at_ms := each.last_sign_ms()) is not None]
    return max(0, now_ms - max(signs)) if signs else 0
