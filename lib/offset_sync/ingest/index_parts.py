"""What the queries of ``index_records`` share: the progress of the index, access to topics, and collaborators."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint, Offsets
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.log_check import Asked, ReadRanges
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.ingest.unreadable_logs import UnreadableLogs
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.topic_requests import DEADLINE_S
from offset_sync.model.errors import ClusterError, OtherClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_ids import verify
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.lease import Lease
from offset_sync.tables.store import TableStore


@dataclass(frozen=True)
class Backfill:
    """The progress of the index: *done* of *total* offsets that existed at the start.

    *records* counts those of this run, *records_per_s* those since it was asked before; *seconds_left* is None where no
    offset was done since.
    """

    records: int
    records_per_s: float
    done: int
    total: int
    seconds_left: float | None

    @property
    def share(self) -> float:
        """The share that is done, from 0 to 1; 1 if there was nothing to do."""
        return self.done / self.total if self.total else 1.0


class IndexProgress:
    """Tracks what micro-batches have read; thread-safe.

    Offsets without a record (markers, compacted ones) count as done when they are passed, and not as records.
    """

    def __init__(self) -> None:
        self._lock, self._began_at = threading.Lock(), time.monotonic()
        self._first: dict[ClusterPartition, int] = {}
        self._goal: dict[ClusterPartition, int] = {}
        self._reached: dict[ClusterPartition, int] = {}
        self._records, self._before = 0, (self._began_at, 0, 0)

    def expect(self, alias: str, ends: Mapping[TopicPartition, int]) -> None:
        """Note where the logs of a cluster end now; only the first ends of a partition count."""
        with self._lock:
            for partition, end in ends.items():
                self._goal.setdefault(ClusterPartition(alias, *partition), end)

    def advance(self, alias: str, start: Offsets, end: Offsets, records: int) -> None:
        """Note that a micro-batch of *records* is in the tables: from *start* on, up to *end*."""
        with self._lock:
            for partition, offset in end.items():
                key = ClusterPartition(alias, *partition)
                self._first.setdefault(key, start.get(partition, 0))
                self._reached[key] = max(offset, self._reached.get(key, 0))
            self._records += records

    def backfill(self) -> Backfill:
        """Return where the index is now."""
        with self._lock:
            (since, records_before, done_before), now, (done, total) = self._before, time.monotonic(), self._offsets()
            seconds, left = max(now - since, 1e-9), 0.0 if done >= total else None
            if self._records > records_before:  # else a micro-batch takes longer, and counts with the next answer
                self._before = now, self._records, done
            if done > done_before:
                left = (total - done) * seconds / (done - done_before)
            return Backfill(self._records, (self._records - records_before) / seconds, done, total, left)

    @property
    def knows_ends(self) -> bool:
        """Whether the end of any log is known."""
        return bool(self._goal)

    @property
    def seconds(self) -> float:
        """Return for how long the job has been indexing."""
        return time.monotonic() - self._began_at

    def _offsets(self) -> tuple[int, int]:
        """Return how many offsets are done and how many there were, of the partitions whose end is known."""
        done = total = 0
        for key, goal in self._goal.items():
            first = self._first.get(key, 0)
            total += max(goal - first, 0)
            done += min(max(self._reached.get(key, first) - first, 0), max(goal - first, 0))
        return done, total


logger = logging.getLogger(__name__)
EVERY_S = 60.0
"""The interval at which refused topics are checked again."""
_DEADLINE_S = 5.0


class TopicAccess:
    """Which of the included topics we may read, by *admins*; each error is logged when it is new.

    Every method waits for clusters, so call none from a loop that serves several. Thread-safe.
    """

    def __init__(self, config: Config, admins: Mapping[str, ClusterAdmin]) -> None:
        self._config, self._admins = config, admins
        self._refused: dict[str, dict[str, ClusterError]] = {}
        self._ask_again_at = time.monotonic() + EVERY_S
        self._unreadable: list[UnreadableLogs] = []

    def watch(self, logs: UnreadableLogs) -> None:
        """Have *logs* read again when they can be."""
        self._unreadable.append(logs)

    def readable(self, alias: str) -> tuple[bool, set[str]]:
        """Return whether any included topic can be read now, and the names of those that may not be.

        Raises ClusterError if the cluster does not answer.
        """
        admin = self._admins[alias]
        included = {topic for topic in admin.topics() if self._config.is_topic_included(topic)}
        refused: dict[str, ClusterError] = dict(admin.unreadable(included))
        # Listing topics omits those that we may not describe, so those named in full are described as well.
        named = admin.describe(self._config.named_topics())
        self._note(alias, refused | {name: each for name, each in named.items() if isinstance(each, ClusterError)})
        return bool(included - refused.keys()), set(refused)

    def refusals(self) -> list[str]:
        """Return one line for each topic that was refused when its cluster was last asked, and each unreadable log."""
        refused = sorted(str(error) for refused in list(self._refused.values()) for error in refused.values())
        return refused + [line for logs in self._unreadable for line in logs.lines()]

    def granted(self) -> list[str]:
        """Return the clusters where a topic or log has become readable or is gone; queries at intervals."""
        if time.monotonic() < self._ask_again_at:
            return []
        self._ask_again_at = time.monotonic() + EVERY_S
        known = list(self._refused.items())  # a query that is being started may add to it
        granted = [alias for alias, refused in known if refused and self._is_changed(alias, set(refused))]
        return granted + [logs.alias for logs in self._unreadable if logs.can_be_read()]

    def _is_changed(self, alias: str, refused: set[str]) -> bool:
        admin = self._admins[alias]
        try:
            described = admin.describe(refused, _DEADLINE_S)
            unreadable = admin.unreadable(refused, _DEADLINE_S)
        except ClusterError:
            return False  # its query reports that
        still = {name for name, each in described.items() if isinstance(each, ClusterError)} | unreadable.keys()
        return still != refused

    def _note(self, alias: str, refused: dict[str, ClusterError]) -> None:
        for topic in refused.keys() - self._refused.get(alias, {}).keys():
            logger.error("%s", refused[topic])
        self._refused[alias] = refused


ORIGIN_DEADLINE_S = 1.0
"""Past it copies are accepted unchecked and the origin is not queried for some seconds: no index waits for another."""


class IndexParts(NamedTuple):
    """What the queries of all clusters share; a micro-batch begins every *interval*, None: up to the present ends."""

    spark: SparkSession
    tables: TableStore
    queries: QuerySupervisor
    progress: IndexProgress
    admins: Mapping[str, ClusterAdmin]
    incarnations: IncarnationCheck
    lease: Lease
    interval: timedelta | None

    def checkpoint(self, config: Config, alias: str, kind: str = "") -> Checkpoint:
        """Return the checkpoint of the query of cluster *alias* for *kind*, repaired.

        Raises OtherClusterError where the cluster has another id than before.
        """
        path = f"{config.tables.checkpoints}/index_records/{alias}{kind}"
        found = Checkpoint(self.tables.files, path, alias, config.names)
        found.begin(partial(verify, config, self.tables.files, alias))
        return found

    def asked(self, config: Config, alias: str, again: ReadRanges) -> Asked:
        """Return the clients that check what was read of cluster *alias*; *again* re-reads ranges."""
        own, others = (MetadataFetcher(self.admins, seconds) for seconds in (DEADLINE_S, ORIGIN_DEADLINE_S))

        def is_same() -> None:
            try:
                verify(config, None, alias, ORIGIN_DEADLINE_S)
            except OtherClusterError:
                raise
            except ClusterError:
                pass  # *own* asks it too

        return Asked(own, others, again, is_same)
