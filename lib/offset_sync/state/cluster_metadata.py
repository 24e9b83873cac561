"""What the clusters say right now: topic ids, partition counts and log ends, asked once per pass."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

logger = logging.getLogger(__name__)
SILENCE_SECONDS = 10.0
"""A cluster that did not answer is not asked again for so long: every pass would wait for it."""


class Topic(Protocol):
    """What a cluster says of a topic."""

    @property
    def topic_id(self) -> str:
        """Kafka's id of the present incarnation."""

    @property
    def partitions(self) -> int:
        """How many partitions it has."""


class Ends(Protocol):
    """Where a partition's log begins and ends."""

    @property
    def log_start(self) -> int:
        """First offset that is still there."""

    @property
    def log_end(self) -> int:
        """First offset that is not there yet."""

    @property
    def leader_epoch(self) -> int | None:
        """The present leader epoch, None where nobody can tell."""


class Cluster(Protocol):
    """What can be asked of a cluster; both raise ClusterError when it does not answer."""

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, Topic | ClusterError]:
        """Return what is known of each topic that exists; the error of one that may not be asked for."""

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, Ends]:
        """Return the log ends of each partition that exists."""


@dataclass(frozen=True)
class ClusterMetadata:
    """What one cluster said; topics that do not exist are in none of the three.

    *refused* are topics that may not be described, with the error that says what to grant.
    """

    topics: Mapping[str, Topic]
    ends: Mapping[TopicPartition, Ends]
    refused: Mapping[str, ClusterError] = field(default_factory=dict)

    def log_end(self, partition: TopicPartition) -> int | None:
        """Return where the log of *partition* ends, 0 for one that does not exist; None where nobody can tell now."""
        if partition in self.ends:
            return self.ends[partition].log_end
        topic = self.topics.get(partition.topic)
        is_absent = partition.topic not in self.refused and (topic is None or partition.partition >= topic.partitions)
        return 0 if is_absent else None


class MetadataFetcher:
    """Asks clusters side by side and remembers which ones do not answer."""

    def __init__(self, clusters: Mapping[str, Cluster], deadline_seconds: float = 5.0) -> None:
        self._clusters = clusters
        self._deadline = deadline_seconds
        self._silent: dict[str, tuple[float, ClusterError]] = {}

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of *partitions*, or why it said nothing."""
        return self.fetch_each(dict.fromkeys(aliases, partitions))

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of its partitions, or why it said nothing."""
        with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
            return dict(zip(wanted, pool.map(self._ask, wanted.keys(), wanted.values()), strict=True))

    def _ask(self, alias: str, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        since, error = self._silent.get(alias, (-SILENCE_SECONDS, None))
        if error is not None and time.monotonic() - since < SILENCE_SECONDS:
            return error
        cluster = self._clusters[alias]
        try:
            answers = cluster.describe(sorted({partition.topic for partition in partitions}), self._deadline)
            topics = {name: each for name, each in answers.items() if not isinstance(each, ClusterError)}
            refused = {name: each for name, each in answers.items() if isinstance(each, ClusterError)}
            known = [p for p in partitions if p.topic in topics and p.partition < topics[p.topic].partitions]
            metadata = ClusterMetadata(topics, cluster.ends(known, self._deadline), refused)
        except ClusterError as problem:
            if error is None:
                logger.error("%s", problem)
            self._silent[alias] = (time.monotonic(), problem)
            return problem
        self._silent.pop(alias, None)
        return metadata
