"""What an answer rests on: the index, what the clusters said, and the commits that count."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochEnd, State, TopicPartition
from offset_sync.state.cluster_clock import ClockOffset
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.key_index import KeyRows
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s

MetadataByCluster = Mapping[str, "ClusterMetadata | ClusterError"]


class Index(Protocol):
    """The record index, see :class:`offset_sync.state.record_index.RecordIndex`; *lock* guards what it knows."""

    @property
    def lock(self) -> threading.RLock:
        """The lock that is held while the index grows, and by whoever reads its logs."""

    def refresh(self) -> None:
        """Catch up with the tables."""

    def take_grown(self) -> set[TopicPartition]:
        """Return the partitions of which any cluster's index has grown since the last call."""

    def log(self, cluster: str, topic: str, partition: int) -> LogIndex | None:
        """Return what is indexed of a partition."""

    def incarnations(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the lives of a log after its first."""

    def is_copied(self, log: ClusterPartition) -> bool:
        """Return whether a log was indexed as a copy byte for byte."""

    def is_written(self, log: ClusterPartition) -> bool:
        """Return whether a log, a copy byte for byte, has been written to."""

    def doubt(self, log: ClusterPartition) -> State | None:
        """Return why copies in a log cannot be told by their contents, if so."""

    def epoch_ends(self, log: ClusterPartition) -> Sequence[EpochEnd]:
        """Return where the records of a log's earlier leaders ended."""

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return the topic id and the leader epoch under which a log was last looked at; None: nobody knows."""

    @property
    def clock_offset(self) -> ClockOffset:
        """How far our clock may be ahead of that of whoever indexes."""

    def rebuilt(self, partition: TopicPartition) -> int:
        """Return how often the logs of a partition were taken in anew."""

    def topic_ids(self, cluster: str, topic: str) -> set[str]:
        """Return the incarnations of a topic that were indexed."""

    def partitions(self, cluster: str, topic: str) -> int:
        """Return how many partitions of a topic were indexed."""

    def code(self, origin: str) -> int:
        """Return the code of an origin."""

    def all_logs(self) -> Mapping[ClusterPartition, LogIndex]:
        """Return all that is indexed."""


def frontier(index: Index, cluster: str, place: TopicPartition) -> int:
    """Return up to where a partition's log is indexed; 0 where nothing is."""
    log = index.log(cluster, place.topic, place.partition)
    return log.frontier if log is not None else 0


def frontiers(
    index: Index, clusters: Iterable[str], partitions: Collection[TopicPartition]
) -> dict[ClusterPartition, int]:
    """Return how far the index has read; to be taken before the clusters are asked for their ends."""
    return {ClusterPartition(c, *each): frontier(index, c, each) for c in clusters for each in partitions}


def known_end(index: Index, clusters: Iterable[str], log: ClusterPartition) -> int:
    """Return the first offset above all records of a *log* that are indexed, there or as copies at *clusters*."""
    end = frontier(index, log.cluster, log.topic_partition)
    for alias in clusters:
        copies = index.log(alias, log.topic, log.partition)
        if copies is not None and alias != log.cluster:
            end = max(end, copies.reach_of(index.code(log.cluster)))
    return end


@dataclass(frozen=True)
class Commits:
    """The owner's commits that count at one target, sorted by partition; shape (keys,).

    *stands* says of which of them the last answer can be given again; None: of none.
    """

    key: KeyRows
    offset: Int64s
    at_ms: Int64s
    stands: NDArray[np.bool_] | None = None

    def take(self, rows: slice | NDArray[np.bool_]) -> Commits:
        """Return the chosen commits."""
        stands = self.stands[rows] if self.stands is not None else None
        return Commits(self.key[rows], self.offset[rows], self.at_ms[rows], stands)


@dataclass(frozen=True)
class Snapshot:
    """What the clusters said, and how far the index had read before they were asked, *asked_at_ms* by our clock.

    *checkpoints* are what MirrorMaker has said at clusters. They are shown, and no answer rests on them.
    """

    metadata: MetadataByCluster
    frontiers: Mapping[ClusterPartition, int]
    asked_at_ms: int = int(NO_LIMIT)
    checkpoints: Mapping[str, MirrorCheckpoints] = field(default_factory=dict)

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
