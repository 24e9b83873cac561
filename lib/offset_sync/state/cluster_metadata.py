"""Metadata of the clusters right now: topic ids, partition counts and log ends, fetched once per pass.

A silent cluster, or a partition whose leader is away or silent, is asked again in the background until it answers; no
fetch waits for it a second time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from offset_sync.kafka.requests import LogEnds, TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.translate.index.origin_positions import NO_LIMIT

logger = logging.getLogger(__name__)
RETRY_S = 2.0
FORGOTTEN_S = 60.0
"""A silent cluster is asked again until no fetch has wanted it for so long."""

Ask = Callable[[str, Collection[TopicPartition]], Collection[TopicPartition]]
"""Asks a cluster about partitions and returns those that exist and do not answer; ClusterError where it is silent."""


class Silence:
    """Silent clusters and partitions, by alias; threads may share it.

    *ask* is called every *retry_seconds* in a thread per cluster, which calls *on_return* when something answers again.
    """

    def __init__(self, ask: Ask, on_return: Callable[[], None] = lambda: None, retry_seconds: float = RETRY_S) -> None:
        self._ask, self._on_return, self._retry_s = ask, on_return, retry_seconds
        self._lock = threading.Lock()
        self._errors: dict[str, ClusterError] = {}
        self._partitions: dict[str, frozenset[TopicPartition]] = {}
        self._wanted_at: dict[str, float] = {}
        self._watched: set[str] = set()

    def of(self, alias: str) -> tuple[ClusterError | None, Set[TopicPartition]]:
        """Return why a cluster was silent when it was last asked, None if it was not, and its silent partitions."""
        with self._lock:
            self._wanted_at[alias] = time.monotonic()
            return self._errors.get(alias), self._partitions.get(alias, frozenset())

    def note(self, alias: str, error: ClusterError | None, partitions: Collection[TopicPartition]) -> None:
        """Note that a cluster does not answer about *partitions*; *error* says why it does not answer at all."""
        if error is None and not partitions:
            return
        with self._lock:
            was_silent, known = alias in self._errors, self._partitions.get(alias, frozenset())
            self._partitions[alias] = known | frozenset(partitions)
            if error is not None:
                self._errors[alias] = error
            is_first = alias not in self._watched
            self._watched.add(alias)
        if error is not None and not was_silent:
            logger.error("%s", error)
        elif error is None and not known:
            logger.warning("clusters.%s: no answer about %s", alias, named(partitions))
        if is_first:
            threading.Thread(target=self._watch, args=(alias,), name=f"silent {alias}", daemon=True).start()

    def _watch(self, alias: str) -> None:
        while self._is_watched(alias):
            time.sleep(self._retry_s)
            asked = self._partitions[alias]
            try:
                silent = frozenset(self._ask(alias, asked))
            except ClusterError as problem:
                with self._lock:
                    if alias in self._errors:
                        self._errors[alias] = problem
                continue
            except Exception:
                logger.exception("clusters.%s: cannot check whether it answers again", alias)
                silent = frozenset()  # the next fetch meets it
            with self._lock:
                has_returned = self._errors.pop(alias, None) is not None or silent < asked
                self._partitions[alias] = self._partitions[alias] - asked | silent
            if has_returned:
                logger.info("clusters.%s: answers again", alias)
                self._on_return()

    def _is_watched(self, alias: str) -> bool:
        """Return whether to go on asking; once no fetch wants the cluster any more all is forgotten."""
        with self._lock:
            is_silent = alias in self._errors or bool(self._partitions.get(alias))
            if is_silent and time.monotonic() - self._wanted_at.get(alias, 0.0) < FORGOTTEN_S:
                return True
            self._errors.pop(alias, None)
            self._partitions.pop(alias, None)
            self._watched.discard(alias)
            return False


def named(partitions: Collection[TopicPartition]) -> str:
    """Return the first of *partitions* as text, and how many more there are."""
    first = min(partitions)
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return f"{first.topic}-{first.partition}{more}"


_LEAST_S = 0.1
"""Timeout for log ends where a cluster has used up the deadline for its topics."""


class MetadataSource(Protocol):
    """Requests to a cluster; both raise ClusterError when it does not answer."""

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, TopicInfo | ClusterError]:
        """Return each topic that exists, or the error where it may not be described."""

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, LogEnds]:
        """Return the log ends of each partition that exists and whose leader answers."""


@dataclass(frozen=True)
class ClusterMetadata:
    """One cluster's metadata; topics that do not exist are in none of the three.

    *refused* are topics that may not be described, with the error that says what to grant. *cut* are logs that have
    lost indexed records, *unsettled* those that may have. *ended* has the ends of indexed leader epochs, of a log that
    was cut only where certain: see :mod:`offset_sync.state.checked_metadata`.
    """

    topics: Mapping[str, TopicInfo]
    ends: Mapping[TopicPartition, LogEnds]
    refused: Mapping[str, ClusterError] = field(default_factory=dict)
    cut: Set[TopicPartition] = frozenset()
    unsettled: Set[TopicPartition] = frozenset()
    ended: Mapping[TopicPartition, EpochEnd] = field(default_factory=dict)

    def log_end(self, partition: TopicPartition) -> int | None:
        """Return the log end of *partition*, 0 for one that does not exist; None where it is unknown now."""
        if partition in self.ends:
            return self.ends[partition].log_end
        topic = self.topics.get(partition.topic)
        is_absent = partition.topic not in self.refused and (topic is None or partition.partition >= topic.partitions)
        return 0 if is_absent else None


MetadataByCluster = Mapping[str, "ClusterMetadata | ClusterError"]


@dataclass(frozen=True)
class Snapshot:
    """The clusters' metadata, and the index frontiers read before it was fetched, *asked_at_ms* by our clock."""

    metadata: MetadataByCluster
    frontiers: Mapping[ClusterPartition, int]
    asked_at_ms: int = NO_LIMIT

    def epoch_end(self, cluster: str, partition: TopicPartition) -> list[EpochEnd]:
        """Return the end of the leader epoch under which a log was indexed, if it has another epoch now."""
        said = self.metadata[cluster]
        is_known = not isinstance(said, ClusterError) and partition in said.ended
        return [said.ended[partition]] if is_known else []  # type: ignore[union-attr]

    def is_unsettled(self, cluster: str, partition: TopicPartition) -> bool:
        """Return whether a log of *cluster* may have lost indexed records."""
        said = self.metadata[cluster]
        return not isinstance(said, ClusterError) and partition in said.unsettled

    def refusals(self, source: str, target: str, topics: Sequence[str]) -> dict[int, str]:
        """Return, by row, why nothing can be done for the topic of a row of *topics*; other rows are left out.

        All rows where *target* is silent, else those of topics that may not be described there or at *source*. A
        silent source refuses nothing: its index is still valid.
        """
        there, here = self.metadata[target], self.metadata[source]
        if isinstance(there, ClusterError):
            return dict.fromkeys(range(len(topics)), str(there))
        refused = dict(there.refused) if isinstance(here, ClusterError) else {**there.refused, **here.refused}
        return {row: str(refused[topic]) for row, topic in enumerate(topics) if topic in refused}


class Fetcher(Protocol):
    """Fetches metadata: :class:`MetadataFetcher`, or a wrapper that checks its answers."""

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return each cluster's metadata of *partitions*, or its error."""


class MetadataFetcher:
    """Asks clusters side by side, within *deadline_seconds* each, and silent ones again in the background.

    Until it answers, a silent cluster gives its error at once, and the log ends of partitions whose leader is silent
    are left out. *on_return* is called, in another thread, when something answers again.
    """

    def __init__(
        self,
        clusters: Mapping[str, MetadataSource],
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
        """Return each cluster's metadata of *partitions*, or its error."""
        return self.fetch_each(dict.fromkeys(aliases, partitions))

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Return each cluster's metadata of its own partitions, or its error."""
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


def _exists(topics: Mapping[str, TopicInfo], partition: TopicPartition) -> bool:
    return partition.topic in topics and partition.partition < topics[partition.topic].partitions


def _unanswered(metadata: ClusterMetadata, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    return {each for each in partitions if _exists(metadata.topics, each) and each not in metadata.ends}
