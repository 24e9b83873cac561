"""What the clusters say right now: topic ids, partition counts and log ends, asked once per pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import EpochEnd, TopicPartition
from offset_sync.state.silence import RETRY_S, Silence

_LEAST_S = 0.1
"""A cluster that has used up the deadline for its topics is asked for so long for the ends of its logs."""


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
        """Return the log ends of each partition that exists and whose leader answers."""


@dataclass(frozen=True)
class ClusterMetadata:
    """What one cluster said; topics that do not exist are in none of the three.

    *refused* are topics that may not be described, with the error that says what to grant. *cut* are logs that have
    lost records which are indexed, *unsettled* those that may have, *ended* says where the records of the leaders end
    that they had then, of a log that was cut only where it is certain: see
    :mod:`offset_sync.state.checked_metadata`.
    """

    topics: Mapping[str, Topic]
    ends: Mapping[TopicPartition, Ends]
    refused: Mapping[str, ClusterError] = field(default_factory=dict)
    cut: Set[TopicPartition] = frozenset()
    unsettled: Set[TopicPartition] = frozenset()
    ended: Mapping[TopicPartition, EpochEnd] = field(default_factory=dict)

    def log_end(self, partition: TopicPartition) -> int | None:
        """Return where the log of *partition* ends, 0 for one that does not exist; None where nobody can tell now."""
        if partition in self.ends:
            return self.ends[partition].log_end
        topic = self.topics.get(partition.topic)
        is_absent = partition.topic not in self.refused and (topic is None or partition.partition >= topic.partitions)
        return 0 if is_absent else None


class MetadataFetcher:
    """Asks clusters side by side, within *deadline_seconds* each; what is silent is asked again in the background.

    Until it answers nobody waits for it: a silent cluster is its error, and the log ends of partitions whose leader is
    silent are left out. *on_return* is called, in another thread, when something answers again.
    """

    def __init__(
        self,
        clusters: Mapping[str, Cluster],
        deadline_seconds: float = 5.0,
        on_return: Callable[[], None] = lambda: None,
        retry_seconds: float = RETRY_S,
    ) -> None:
        self._clusters = clusters
        self._deadline = deadline_seconds
        self._silence = Silence(self._silent, on_return, retry_seconds)

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of *partitions*, or why it said nothing."""
        return self.fetch_each(dict.fromkeys(aliases, partitions))

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says of its partitions, or why it said nothing."""
        with ThreadPoolExecutor(max_workers=max(1, len(wanted))) as pool:
            return dict(zip(wanted, pool.map(self._answer, wanted.keys(), wanted.values()), strict=True))

    def _answer(self, alias: str, partitions: Collection[TopicPartition]) -> ClusterMetadata | ClusterError:
        error, silent = self._silence.of(alias)
        if error is not None:
            return error
        try:
            metadata = self._ask(alias, partitions, silent)
        except ClusterError as problem:
            self._silence.note(alias, problem, partitions)
            return problem
        self._silence.note(alias, None, _unanswered(metadata, partitions) - silent)
        return metadata

    def _ask(
        self, alias: str, partitions: Collection[TopicPartition], silent: Set[TopicPartition] = frozenset()
    ) -> ClusterMetadata:
        cluster, ends_at = self._clusters[alias], time.monotonic() + self._deadline
        answers = cluster.describe(sorted({partition.topic for partition in partitions}), self._deadline)
        topics = {name: each for name, each in answers.items() if not isinstance(each, ClusterError)}
        refused = {name: each for name, each in answers.items() if isinstance(each, ClusterError)}
        asked = [p for p in partitions if _exists(topics, p) and p not in silent]
        return ClusterMetadata(topics, cluster.ends(asked, max(_LEAST_S, ends_at - time.monotonic())), refused)

    def _silent(self, alias: str, partitions: Collection[TopicPartition]) -> Collection[TopicPartition]:
        return _unanswered(self._ask(alias, partitions), partitions)


def _exists(topics: Mapping[str, Topic], partition: TopicPartition) -> bool:
    return partition.topic in topics and partition.partition < topics[partition.topic].partitions


def _unanswered(metadata: ClusterMetadata, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    return {each for each in partitions if _exists(metadata.topics, each) and each not in metadata.ends}
