"""Metrics of every cluster's logs and their index: unknown records, backlog, and open transactions.

The clusters are queried in a separate thread, once per reconcile interval, so that neither a micro-batch nor a scrape
ever waits for them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.metrics_core import Metric

from offset_sync.config import Config
from offset_sync.jobs.metrics.endpoint import add_worst, gauge
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, TopicPartition
from offset_sync.state.record_index import RecordIndex

logger = logging.getLogger(__name__)
_DEADLINE_S = 10.0


class LogWatch:
    """Checks every cluster's logs and collects the last results.

    A cluster that does not answer has cluster_up 0 and no metric of its logs.
    """

    def __init__(
        self,
        config: Config,
        clusters: Mapping[str, ClusterAdmin],
        index: RecordIndex,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clusters, self._is_indexed, self._index = clusters, config.is_topic_included, index
        self._clock, self._names = clock, config.names
        self._progress: dict[str, LogProgress | None] = {}

    def check(self) -> None:
        """Query every cluster once."""
        for alias, cluster in self._clusters.items():
            try:
                reaches = cluster.reaches(lambda name: name == CONSUMER_OFFSETS or self._is_indexed(name), _DEADLINE_S)
            except ClusterError as problem:
                logger.debug("%s", problem)  # logged where metadata is fetched
                self._progress[alias] = None
                continue
            with self._index.lock:
                logs = self._index.all_logs()
                found = {partition: logs.get(ClusterPartition(alias, *partition)) for partition in reaches}
                frontiers = {partition: log.frontier for partition, log in found.items() if log is not None}
            before = self._progress.get(alias) or LogProgress()
            self._progress[alias] = before.after(self._clock(), frontiers, reaches)

    def collect(self) -> Iterator[Metric]:
        """Return the last results."""
        up = gauge("cluster_up", "1 if the cluster answered the last request for log ends", "cluster")
        behind = gauge("index_behind_seconds", "least age of the oldest offset not in the index", "cluster")
        text = "for how long a topic's last stable offset has not moved, of the worst; __consumer_offsets too"
        stalled = gauge("log_stalled_seconds", text, "cluster", "topic")
        for alias, progress in list(self._progress.items()):
            up.add_metric([alias], progress is not None)
            if progress is not None:
                behind.add_metric([alias], progress.behind_seconds)
                by_topic: dict[tuple[str, ...], float] = {}
                for partition, seconds in progress.stalled.items():
                    labels = (alias, self._names.outside(alias, partition.topic))
                    by_topic[labels] = max(by_topic.get(labels, 0.0), seconds)
                add_worst(stalled, by_topic)
        yield from (up, behind, stalled, self._unknown())

    def _unknown(self) -> Metric:
        found = gauge(
            "index_unknown_records", "records of unknown origin in the index, unread by all groups", "cluster"
        )
        with self._index.lock:
            logs = self._index.all_logs()
            # Before the table is read the number is unknown: a jump from 0 would look like growth.
            counts = dict.fromkeys(self._clusters, 0) if logs else {}
            for (alias, _, _), log in logs.items():
                if alias in counts:  # rows of a cluster removed from the configuration stay in the table
                    counts[alias] += int(log.unknown_ranges[1].sum())
        for alias, count in counts.items():
            found.add_metric([alias], count)
        return found


class LogProgress:
    """The result of one check of a cluster's logs, based on earlier checks. Times are seconds of one clock.

    A log *stalls* while its last stable offset is the same and its high watermark moves: a transaction is open there.
    Seconds of *stalled* err to the large side, by the time between two checks at most. The oldest offset that can be
    indexed and is not has waited for *behind_seconds* at least, 0 if this check is the first to see it.
    """

    def __init__(self) -> None:
        self._marks: dict[TopicPartition, tuple[Reach, float]] = {}
        self._goals: dict[TopicPartition, tuple[int, float]] = {}
        self.stalled: dict[TopicPartition, float] = {}
        self.behind_seconds = 0.0

    def after(
        self, now_s: float, frontiers: Mapping[TopicPartition, int], reaches: Mapping[TopicPartition, Reach]
    ) -> LogProgress:
        """Return the result of the next check, from the reach of each log and the frontier of its index.

        Offsets below a log's start count as behind if nothing of the log is indexed.
        """
        found = LogProgress()
        for partition, reach in reaches.items():
            first, since_s = self._marks.get(partition, (reach, now_s))
            if reach.stable != first.stable or reach.stable == reach.high:
                first, since_s = reach, now_s
            found._marks[partition] = first, since_s
            if reach.high > first.high:
                found.stalled[partition] = now_s - since_s
            frontier = frontiers.get(partition, 0)
            if partition.topic != CONSUMER_OFFSETS and frontier < reach.stable:
                goal = self._goals.get(partition)
                found._goals[partition] = goal if goal is not None and frontier < goal[0] else (reach.stable, now_s)
        found.behind_seconds = max((now_s - since_s for _, since_s in found._goals.values()), default=0.0)
        return found
