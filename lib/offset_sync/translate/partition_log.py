"""One side of a translation: a partition's log on one cluster, as the index and the cluster itself describe it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT


@dataclass(frozen=True)
class PartitionMetadata:
    """What one cluster says of one partition, and which of its topic's incarnations the index has read.

    *topic_id* is None where there is no such topic or (*is_refused*) we may not describe it, and empty where nobody
    can tell. *partitions* counts those of the topic, *log_start* and *log_end* are offsets. *indexed_ids* are the
    topic ids the index has met. *frontier* is how far the index had read *before* the cluster was asked: by now it
    may well be past the log end we were told.
    """

    topic_id: str | None
    partitions: int
    log_start: int
    log_end: int
    indexed_ids: AbstractSet[str] = field(default_factory=frozenset)
    frontier: int = 0
    is_refused: bool = False


NOT_ASKED = PartitionMetadata(topic_id="", partitions=0, log_start=0, log_end=NO_LIMIT)
"""The cluster was not asked: nothing is deleted, as far as we know, and the log may have any end."""


@dataclass(frozen=True)
class PartitionLog:
    """A partition's log on one cluster.

    *origin* is the code of the records that are produced at this cluster. Where the partition is not indexed
    (*is_indexed* False) *index* is one that holds nothing and reaches nowhere.
    """

    index: LogIndex
    origin: int
    metadata: PartitionMetadata = NOT_ASKED
    is_indexed: bool = True

    @classmethod
    def of(cls, index: LogIndex | None, origin: int, metadata: PartitionMetadata = NOT_ASKED) -> PartitionLog:
        """Return the log with its *index*, if it has one."""
        return cls(index if index is not None else LogIndex(), origin, metadata, index is not None)

    @property
    def log_start(self) -> int:
        """The first offset that retention has left."""
        return self.metadata.log_start
