"""What the clusters say right now: topic ids, partition counts and log ends, asked once per pass.

What does not answer is asked again in the background until it does: nobody waits for it a second time. Of a cluster
that is all of it, or some partitions whose leader is away or silent while the others answer.
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
"""Where nobody has wanted to know for so long, it is not asked any more."""

Ask = Callable[[str, Collection[TopicPartition]], Collection[TopicPartition]]
"""Asks a cluster about partitions and returns those that exist and do not answer; ClusterError where nobody does."""


class Silence:
    """Silent clusters and partitions, by alias; threads may share it.

    *ask* is called every *retry_seconds* in a thread per cluster, *on_return* by it when something answers again.
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
        """Note that a cluster does not answer about *partitions*; *error* is why where it says nothing at all."""
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
                logger.exception("clusters.%s: could not be asked whether it answers again", alias)
                silent = frozenset()  # whoever asks next meets it
            with self._lock:
                has_returned = self._errors.pop(alias, None) is not None or silent < asked
                self._partitions[alias] = self._partitions[alias] - asked | silent
            if has_returned:
                logger.info("clusters.%s: answers again", alias)
                self._on_return()

    def _is_watched(self, alias: str) -> bool:
        """Return whether to go on asking; where nobody wants to know any more all is forgotten."""
        with self._lock:
            is_silent = alias in self._errors or bool(self._partitions.get(alias))
            if is_silent and time.monotonic() - self._wanted_at.get(alias, 0.0) < FORGOTTEN_S:
                return True
            self._errors.pop(alias, None)
            self._partitions.pop(alias, None)
            self._watched.discard(alias)
            return False


def named(partitions: Collection[TopicPartition]) -> str:
    """Return the first of *partitions* in words, and how many there are beside it."""
    first = min(partitions)
    more = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return f"{first.topic}-{first.partition}{more}"


_LEAST_S = 0.1
"""A cluster that has used up the deadline for its topics is asked for so long for the ends of its logs."""


class Cluster(Protocol):
    """What can be asked of a cluster; both raise ClusterError when it does not answer."""

    def describe(self, topics: Collection[str], deadline: float) -> Mapping[str, TopicInfo | ClusterError]:
        """Return what is known of each topic that exists; the error of one that may not be asked for."""

    def ends(self, partitions: Collection[TopicPartition], deadline: float) -> Mapping[TopicPartition, LogEnds]:
        """Return the log ends of each partition that exists and whose leader answers."""


@dataclass(frozen=True)
class ClusterMetadata:
    """What one cluster said; topics that do not exist are in none of the three.

    *refused* are topics that may not be described, with the error that says what to grant. *cut* are logs that have
    lost records which are indexed, *unsettled* those that may have, *ended* says where the records of the leaders end
    that they had then, of a log that was cut only where it is certain: see
    :mod:`offset_sync.state.checked_metadata`.
    """

    topics: Mapping[str, TopicInfo]
    ends: Mapping[TopicPartition, LogEnds]
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


MetadataByCluster = Mapping[str, "ClusterMetadata | ClusterError"]


@dataclass(frozen=True)
class Snapshot:
    """What the clusters said, and how far the index had read before they were asked, *asked_at_ms* by our clock."""

    metadata: MetadataByCluster
    frontiers: Mapping[ClusterPartition, int]
    asked_at_ms: int = int(NO_LIMIT)

    def epoch_end(self, cluster: str, partition: TopicPartition) -> list[EpochEnd]:
        """Return where the records of the leaders ended that a log had when it was indexed, if it has another now."""
        said = self.metadata[cluster]
        is_told = not isinstance(said, ClusterError) and partition in said.ended
        return [said.ended[partition]] if is_told else []  # type: ignore[union-attr]

    def is_unsettled(self, cluster: str, partition: TopicPartition) -> bool:
        """Return whether nobody knows if a log of *cluster* still has what was indexed of it."""
        said = self.metadata[cluster]
        return not isinstance(said, ClusterError) and partition in said.unsettled

    def refusals(self, source: str, target: str, topics: Sequence[str]) -> dict[int, str]:
        """Return, by row, why nothing can be done for the topics of *topics*, one per row; the others are left out.

        All rows where *target* is silent, else those of topics that may not be described there or at *source*. A
        silent source refuses nothing: what the index knows of it stands.
        """
        there, here = self.metadata[target], self.metadata[source]
        if isinstance(there, ClusterError):
            return dict.fromkeys(range(len(topics)), str(there))
        refused = dict(there.refused) if isinstance(here, ClusterError) else {**there.refused, **here.refused}
        return {row: str(refused[topic]) for row, topic in enumerate(topics) if topic in refused}


class Fetcher(Protocol):
    """Who asks the clusters: :class:`MetadataFetcher`, or who compares its answers with what is known."""

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return what each cluster says of *partitions*, or why it said nothing."""


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


def _exists(topics: Mapping[str, TopicInfo], partition: TopicPartition) -> bool:
    return partition.topic in topics and partition.partition < topics[partition.topic].partitions


def _unanswered(metadata: ClusterMetadata, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    return {each for each in partitions if _exists(metadata.topics, each) and each not in metadata.ends}
