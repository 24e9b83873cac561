"""The logs beside their index: what is indexed, what is not yet, and what nobody can read.

The clusters are asked in a thread of their own, once per reconcile interval, so that neither a micro-batch nor a
scrape ever waits for them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import numpy as np

from offset_sync.config import Config
from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.log_stalls import Backlog, Reach, Stalls
from offset_sync.jobs.metrics.samples import Family, Samples, to_label
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.snapshot import Index

logger = logging.getLogger(__name__)
CONSUMER_OFFSETS = "__consumer_offsets"
_DEADLINE_S = 10.0
_LogMetrics = tuple[int, float, dict[TopicPartition, float]]


class Cluster(Protocol):
    """What is asked of a cluster; ClusterError where it does not answer."""

    def reaches(self, is_wanted: Callable[[str], bool], deadline: float) -> Mapping[TopicPartition, Reach]:
        """Return how far each partition of the wanted topics can be read."""


class IndexSizes:
    """Collects what the index holds."""

    def __init__(self, index: Index, aliases: Collection[str]) -> None:
        self._index, self._aliases = index, aliases

    def collect(self) -> Iterable[Family]:
        """Return the sizes of now; nothing before there is an index."""
        with self._index.lock:
            # Before the table is read nothing is known: a jump from 0 would look like growth.
            has_been_read = bool(self._index.all_logs())
            sizes = {alias: np.zeros(4, np.int64) for alias in self._aliases if has_been_read}
            for (alias, _, _), log in self._index.all_logs().items():
                if alias in sizes:  # a cluster may have left the configuration, its rows stay in the table
                    sizes[alias] += (1, log.frontier - log.begin, log.run_count, int(log.unknown_ranges[1].sum()))
        samples = Samples(catalog.INDEX_METRICS)
        for alias, numbers in sizes.items():
            for metric, number in zip(catalog.INDEX_METRICS, numbers.tolist(), strict=True):
                samples.add(metric, number, alias)
        return samples


class LogWatch:
    """Checks every cluster's logs from time to time and collects what it found last.

    Of a cluster that does not answer nothing is said but that.
    """

    def __init__(
        self,
        config: Config,
        clusters: Mapping[str, Cluster],
        index: Index,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clusters, self._is_indexed, self._index = clusters, config.is_topic_included, index
        self._worst, self._clock, self._names = config.metrics.worst, clock, config.names
        self._stalls = {alias: Stalls() for alias in clusters}
        self._backlogs = {alias: Backlog() for alias in clusters}
        self._seen: dict[str, _LogMetrics | None] = {}

    def start(self, stop: threading.Event, interval_seconds: float) -> threading.Thread:
        """Check in a thread until *stop* is set."""

        def run() -> None:
            while not stop.is_set():
                try:
                    self.check()
                except Exception:
                    logger.exception("metrics: the logs could not be checked; trying again")
                stop.wait(interval_seconds)

        thread = threading.Thread(target=run, name="log watch", daemon=True)
        thread.start()
        return thread

    def check(self) -> None:
        """Ask every cluster once."""
        for alias, cluster in self._clusters.items():
            try:
                reaches = cluster.reaches(lambda name: name == CONSUMER_OFFSETS or self._is_indexed(name), _DEADLINE_S)
            except ClusterError as problem:
                logger.debug("%s", problem)  # whoever fetches metadata says it aloud
                self._stalls[alias], self._backlogs[alias], self._seen[alias] = Stalls(), Backlog(), None
                continue
            now = self._clock()
            indexed = {partition: reach for partition, reach in reaches.items() if partition.topic != CONSUMER_OFFSETS}
            with self._index.lock:
                logs = self._index.all_logs()
                found = {partition: logs.get(ClusterPartition(alias, *partition)) for partition in indexed}
                frontiers = {partition: log.frontier for partition, log in found.items() if log is not None}
            behind, behind_seconds = self._backlogs[alias].update(now, frontiers, indexed)
            self._seen[alias] = behind, behind_seconds, self._stalls[alias].update(now, reaches)

    def collect(self) -> Iterable[Family]:
        """Return what was seen last."""
        samples = Samples(catalog.LOG_METRICS)
        for alias, seen in list(self._seen.items()):
            samples.add(catalog.CLUSTER_UP, seen is not None, alias)
            if seen is None:
                continue
            offsets, seconds, stalled = seen
            samples.add(catalog.INDEX_BEHIND, offsets, alias)
            samples.add(catalog.INDEX_BEHIND_SECONDS, seconds, alias)
            samples.add(catalog.STALLED_PARTITIONS, len(stalled), alias)
            by_topic: dict[str, float] = {}
            for partition, stalled_seconds in stalled.items():
                by_topic[partition.topic] = max(by_topic.get(partition.topic, 0.0), stalled_seconds)
            for topic, longest in sorted(by_topic.items(), key=lambda item: -item[1])[: self._worst]:
                samples.add(catalog.STALLED_SECONDS, longest, alias, to_label(self._names.outside(alias, topic)))
        return samples
