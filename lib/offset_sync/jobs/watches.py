"""Polls for changes other than commits, each kind in a thread of its own.

What coordinators hold. Partition counts: of ``__consumer_offsets``, for the order of commits, and of the topics that
groups commit. And log ends, for metrics: neither a micro-batch nor a scrape waits for a cluster.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from prometheus_client.metrics_core import Metric

from offset_sync.config import Config
from offset_sync.ingest.polled_commits import PollIngester
from offset_sync.jobs.endpoint import Labels, gauge, worst
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.errors import ClusterError, TakenOverError
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import begin_new_partitions

logger = logging.getLogger(__name__)
_FAILED_S, _AGAIN_S, _DAY_S, _DEADLINE_S = 1.0, 60.0, 86_400.0, 10.0


def look_until(
    pause_s: float, look: Callable[[], object], stop: threading.Event, is_ready: threading.Event | None = None
) -> None:
    """Call *look* now and every *pause_s* seconds until *stop* is set, not before *is_ready*; log its exceptions."""
    while not stop.is_set():
        try:
            if is_ready is None or is_ready.is_set():
                look()
        except TakenOverError:
            return  # the job is stopping, and says why
        except Exception:  # the next call retries
            if not stop.is_set():  # else the job is ending
                logger.exception("a periodic task failed; retrying")
                stop.wait(_FAILED_S)
        stop.wait(pause_s)


class CoordinatorWatch:
    """Compares what coordinators hold with what was read of their clusters' logs: after the start, and once a day.

    *checks* has what takes in the differences, by cluster; *on_change* is called where there are some. What cannot be
    compared now is compared again after a minute.
    """

    def __init__(self, state: SyncState, checks: Mapping[str, PollIngester], on_change: Callable[[], None]) -> None:
        self._state, self._checks, self._on_change = state, checks, on_change
        self._due, self._done = dict.fromkeys(checks, 0.0), dict.fromkeys(checks, 0)

    def compare(self, failed: Collection[str] = ()) -> list[str]:
        """Compare those clusters that are due, without those that *failed*; return one line for each without answer."""
        failures = list[str]()
        for alias in sorted(self._due.keys() - self._state.unread.aliases - {*failed}):
            if time.monotonic() < self._due[alias]:
                continue
            self._due[alias] = time.monotonic() + _AGAIN_S
            try:
                if self._compare(alias):
                    self._due[alias] = time.monotonic() + _DAY_S
            except ClusterError as problem:
                failures.append(f"{problem}: what its coordinators hold was not compared with its log")
        for failure in failures:
            logger.warning("%s", failure)
        return failures

    def _compare(self, alias: str) -> bool:
        # Numbered like micro-batches: one that failed is repeated with its commits.
        check, number = self._checks[alias], self._done[alias]
        batch = check.decode(None, number)
        if found := batch.commits.num_rows:
            batch = batch.with_made(batch.timestamp_ms)
            recorded = self._state.record(alias, batch.keys, batch.commit_records)
            check.write(batch, recorded.is_own)
            logger.warning("clusters.%s: %d offsets were not in its log as its coordinators hold them", alias, found)
            self._on_change()
        self._done[alias] += 1
        return check.is_whole(number)


class PartitionWatch:
    """Keeps the partition counts in *state* and *incarnations* up to date.

    *on_change* is called when groups get a position in a new partition, *on_growth* with the alias of a cluster whose
    ``__consumer_offsets`` has more partitions than its query reads.
    """

    def __init__(
        self,
        state: SyncState,
        admins: Mapping[str, ClusterAdmin],
        incarnations: CommitLogIncarnations,
        on_change: Callable[[], None],
        on_growth: Callable[[str], None],
    ) -> None:
        self._state, self._admins, self._incarnations = state, admins, incarnations
        self._on_change, self._on_growth = on_change, on_growth
        self._partitions = dict.fromkeys(admins, 0)  # that its query reads
        self._polled = frozenset(alias for alias, each in state.offsets.clusters.items() if each.is_polled)

    def note_partitions(self, alias: str, topics: Sequence[str] = ()) -> None:
        """Note how many partitions a cluster's ``__consumer_offsets`` and some *topics* have; raises ClusterError."""
        of_commits = [] if alias in self._polled else [CONSUMER_OFFSETS]
        found = self._admins[alias].describe([*of_commits, *topics])
        told = {name: each for name, each in found.items() if isinstance(each, TopicInfo)}
        self._incarnations.topics.note(alias, told)
        if CONSUMER_OFFSETS in told:
            self._partitions[alias] = partitions = told[CONSUMER_OFFSETS].partitions
            with self._state.lock:
                self._state.offsets.clusters[alias].partitions = partitions

    def begin_new_partitions(self) -> None:
        """Set groups to the start of partitions added after their first commit."""
        if begin_new_partitions(self._state, self._incarnations.topics):
            self._on_change()

    def note_growth(self) -> None:
        """Note which topics have more partitions; for a cluster that does not answer its query reports the error."""
        with self._state.lock:
            topics = sorted({topic for _, topic in self._state.keys.streams})
        for alias in self._admins:
            before = self._partitions[alias]
            try:
                self.note_partitions(alias, topics)
            except ClusterError:
                continue
            now = self._partitions[alias]
            if before and now != before:
                logger.warning("clusters.%s: %s has %d partitions, %d before", alias, CONSUMER_OFFSETS, now, before)
                self._on_growth(alias)
        self.begin_new_partitions()


class LogWatch:
    """Checks every cluster's logs, and keeps the last results; a cluster that does not answer has none of its logs.

    *stalled* waits for the last stable offset to reach the high watermark, *behind* for the index to reach the former.
    """

    def __init__(self, config: Config, clusters: Mapping[str, ClusterAdmin], index: RecordIndex) -> None:
        self._config, self._clusters, self._index = config, clusters, index
        self.is_up: dict[Labels, bool] = {}
        self._stalled, self._behind = Waits(), Waits()

    def check(self, now_s: float | None = None) -> None:
        """Query every cluster once."""
        is_included = self._config.is_topic_included
        stable, indexed = dict[ClusterPartition, tuple[int, int]](), dict[ClusterPartition, tuple[int, int]]()
        with self._index.lock:
            frontiers = {log: each.frontier for log, each in self._index.all_logs().items()}
        for alias, cluster in self._clusters.items():
            try:
                reaches = cluster.reaches(lambda name: name == CONSUMER_OFFSETS or is_included(name), _DEADLINE_S)
            except ClusterError as problem:
                logger.debug("%s", problem)  # logged where metadata is fetched
                self.is_up[alias,] = False
                continue
            self.is_up[alias,] = True
            for partition, reach in reaches.items():
                log = ClusterPartition(alias, *partition)
                stable[log] = reach.stable, reach.high
                if partition.topic != CONSUMER_OFFSETS:
                    indexed[log] = frontiers.get(log, 0), reach.stable
        now_s = time.monotonic() if now_s is None else now_s
        self._stalled.note(now_s, stable)
        self._behind.note(now_s, indexed)

    def gauges(self) -> Iterator[Metric]:
        """Yield the gauges of the last check."""
        yield gauge(
            "cluster_up", "1 if the cluster answered the last request for log ends", ("cluster",), {**self.is_up}
        )
        yield gauge(
            "index_behind_seconds", "least age of the oldest offset not in the index", ("cluster",), self.behind()
        )
        yield gauge(
            "log_stalled_seconds",
            "least age of the oldest record above a topic's last stable offset, of the worst; __consumer_offsets too",
            ("cluster", "topic"),
            worst(self.stalled()),
        )
        yield gauge(
            "index_unknown_records",
            "records of unknown origin in the index, unread by all groups",
            ("cluster",),
            self.unknown_records(),
        )

    def stalled(self) -> dict[Labels, float]:
        """Return the longest wait of each topic in seconds: a transaction is open there."""
        return self._stalled.longest(lambda log: (log.cluster, self._config.names.outside(log.cluster, log.topic)))

    def behind(self) -> dict[Labels, float]:
        """Return the longest wait of each cluster in seconds."""
        none = {alias: 0.0 for alias, is_up in [*self.is_up.items()] if is_up}
        return none | self._behind.longest(lambda log: (log.cluster,))

    def unknown_records(self) -> dict[Labels, float]:
        """Return how many records of unknown origin each cluster has; nothing before the table is read.

        To Prometheus, a jump from 0 would look like growth.
        """
        with self._index.lock:
            logs = self._index.all_logs()
            counts: dict[Labels, float] = {(alias,): 0 for alias in self._clusters if logs}
            for (alias, _, _), log in logs.items():
                if (alias,) in counts:  # rows of a cluster removed from the configuration stay in the table
                    counts[alias,] += int(log.unknown_ranges[1].sum())
        return counts


class Waits:
    """For how many seconds logs have not reached the offset that was their goal when they were first behind it."""

    def __init__(self) -> None:
        self._goals, self._noted_s = dict[ClusterPartition, tuple[int, float]](), 0.0

    def note(self, now_s: float, found: Mapping[ClusterPartition, tuple[int, int]]) -> None:
        """Note how far each log is, and its goal now."""
        before, self._noted_s = self._goals, now_s
        self._goals = {
            log: before[log] if log in before and reached < before[log][0] else (goal, now_s)
            for log, (reached, goal) in found.items()
            if reached < goal
        }

    def longest(self, labels_of: Callable[[ClusterPartition], Labels]) -> dict[Labels, float]:
        """Return the longest wait by labels."""
        found = dict[Labels, float]()
        for log, (_, since_s) in self._goals.items():
            labels = labels_of(log)
            found[labels] = max(found.get(labels, 0.0), self._noted_s - since_s)
        return found
