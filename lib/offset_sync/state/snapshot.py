"""What settling works with and what it results in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, TopicPartition
from offset_sync.sync.write_plan import Plan
from offset_sync.state.cluster_metadata import Look
from offset_sync.state.committed_offsets import Key
from offset_sync.state.key_index import Keys
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.state.last_translations import OUTCOMES
from offset_sync.translate.partition import Translations
from offset_sync.translate.index.runs import Int64s

Looks = Mapping[str, "Look | ClusterError"]


class Index(Protocol):
    """The record index, as ``spark.runcache.RunCache`` offers it."""

    def refresh(self) -> None:
        """Catch up with the tables."""

    def take_grown(self) -> set[TopicPartition]:
        """Return the partitions of which any cluster's index has grown since the last call."""

    def log(self, cluster: str, topic: str, partition: int) -> LogIndex | None:
        """Return what is indexed of a partition."""

    def topic_ids(self, cluster: str, topic: str) -> set[str]:
        """Return the incarnations of a topic that were indexed."""

    def partitions(self, cluster: str, topic: str) -> int:
        """Return how many partitions of a topic were indexed."""

    def code(self, origin: str) -> int:
        """Return the code of an origin."""


def frontier(index: Index, cluster: str, place: TopicPartition) -> int:
    """Return up to where a partition's log is indexed; 0 where nothing is."""
    log = index.log(cluster, place.topic, place.partition)
    return log.frontier if log is not None else 0


@dataclass(frozen=True)
class Commits:
    """The owner's commits that count at one target, sorted by partition; shape (keys,)."""

    key: Keys
    offset: Int64s
    at_ms: Int64s


@dataclass(frozen=True)
class Seen:
    """What the clusters said, and how far the index had read before they were asked."""

    looks: Looks
    frontiers: Mapping[tuple[str, TopicPartition], int]

    def refusals(self, source: str, target: str, topics: Sequence[str]) -> dict[int, str]:
        """Return, by row, why nothing can be done for the topics of *topics*, one per row; the others are left out.

        All rows where *target* is silent, else those of topics that may not be described there or at *source*. A
        silent source refuses nothing: what the index knows of it stands.
        """
        there, here = self.looks[target], self.looks[source]
        if isinstance(there, ClusterError):
            return dict.fromkeys(range(len(topics)), str(there))
        refused = dict(there.refused) if isinstance(here, ClusterError) else {**there.refused, **here.refused}
        return {row: str(refused[topic]) for row, topic in enumerate(topics) if topic in refused}


@dataclass(frozen=True)
class Task:
    """What to settle: *keys* of one *source*'s micro-batch, or (None) all keys of all sources that are not settled.

    *is_waiting*: of all sources those *keys* whose answer the index held back.
    """

    keys: Keys | None
    source: str | None
    batch_id: int | None
    is_first: bool = False
    is_waiting: bool = False


@dataclass(frozen=True)
class Settlement:
    """Answers from one source to one target and what became of them, one row per key; see offset_translations."""

    source: str
    target: str
    batch_id: int | None
    translated_at_ms: int
    committed_at_ms: int
    key: Keys
    source_offset: Int64s
    source_at_ms: Int64s
    answers: Translations
    plan: Plan
    previous: Int64s
    outcome: NDArray[np.intp]
    error: Mapping[int, str]
    is_news: NDArray[np.bool_]

    def failures(self, keys: Sequence[Key]) -> list[str]:
        """Return one line per distinct reason why something could not be done."""
        by_reason: dict[str, list[int]] = {}
        for row in np.flatnonzero(self.outcome == OUTCOMES.index(Outcome.FAILED)).tolist():
            by_reason.setdefault(self.error.get(row, "no reason given"), []).append(row)
        return [
            f"{self.source} to {self.target}: {len(rows)} offsets not committed, "
            f"first {'/'.join(map(str, keys[int(self.key[rows[0]])]))}: {reason}"
            for reason, rows in by_reason.items()
        ]
