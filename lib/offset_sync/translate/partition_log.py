"""One side of a translation: a partition's log, as the index and its cluster describe it, and why not to trust it.

And offsets of it as they are given to be translated, and which of them are of records that are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, EpochEnd, State
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s


class PartitionMetadata(NamedTuple):
    """What one cluster says of one partition, and which of its topic's incarnations the index has read.

    *topic_id* is None where there is no such topic or (*is_refused*) we may not describe it, and empty where nobody
    can tell. *log_start* and *log_end* are offsets, both 0 where the topic has fewer partitions (*is_missing*).
    *indexed_ids* are the topic ids the index has met. *frontier* is how far the index had read *before* the cluster was
    asked: by now it may well be past the log end we were told. *cut_at*: the log has lost records that are indexed;
    from there on it has other ones, or none, and below it the same. None: it was not cut, as far as the leader epochs
    tell. *is_written*: it was a copy, byte for byte, and has got records of its own; or its index is that of a copy,
    and it is taken for none any more. *doubt* says why its copies cannot be told by their contents, if so; or that it
    was cut, and nobody can tell where.
    """

    topic_id: str | None
    log_start: int
    log_end: int
    indexed_ids: AbstractSet[str] = frozenset()
    frontier: int = 0
    is_refused: bool = False
    is_missing: bool = False
    cut_at: int | None = None
    is_written: bool = False
    doubt: State | None = None


NOT_ASKED = PartitionMetadata(topic_id="", log_start=0, log_end=NO_LIMIT)
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

    def below_the_cut(self) -> PartitionLog:
        """Return what is indexed of the log and still true, where the log was cut: all below the cut, and no more."""
        cut_at = self.metadata.cut_at
        return self if cut_at is None else replace(self, index=self.index.below(cut_at))


def reason_to_withhold(source: PartitionLog, target: PartitionLog) -> State | None:
    """Return why no commit of this partition may be translated, None if it may.

    Errs to withholding: a topic recreated on either side, or a source's log cut, makes identities repeat, so nothing is
    translated until the log has been indexed anew. Of a target's log all below the cut is as it was indexed, so answers
    up to there hold, if it is known where that is. A partition that only one side has withholds no other: mirrors
    copy into the same partition, whatever producers do with their keys. Only an empty target log needs no index.
    """
    for reason in (reason_of(source.metadata), reason_of_target(target.metadata)):
        if reason is not None:
            return reason
    if source.metadata.is_missing or target.metadata.is_missing:
        is_nowhere = source.metadata.is_missing and target.metadata.is_missing
        return State.PARTITION_MISSING if is_nowhere else State.PARTITIONS_DIFFER
    if not target.is_indexed and target.metadata.log_end > target.log_start:
        return State.NOT_INDEXED
    if source.index.is_contradicted or target.index.is_contradicted:
        return State.LOG_TRUNCATED
    return None


def last_known(indexed_ids: AbstractSet[str]) -> PartitionMetadata:
    """Return the metadata of a partition whose cluster cannot be asked, as after a disaster.

    Its log may have any end, so no commit counts as beyond it. That the cluster has the partition is told by the commit
    there. Topic ids that the index has met go on withholding what they withheld while the cluster still answered.
    """
    return PartitionMetadata(min(indexed_ids, default=""), 0, int(NO_LIMIT), indexed_ids)


def reason_of(metadata: PartitionMetadata) -> State | None:
    """Return why a source alone lets nothing be translated, None if it does not; for a target ask the other one."""
    if metadata.is_refused:
        return State.TOPIC_UNAUTHORIZED
    if metadata.topic_id is None:
        return State.TOPIC_MISSING
    if metadata.indexed_ids and metadata.indexed_ids != {metadata.topic_id}:
        return State.TOPIC_RECREATED
    if metadata.cut_at is not None or metadata.frontier > metadata.log_end:
        return State.LOG_TRUNCATED
    return State.COPY_WRITTEN if metadata.is_written else metadata.doubt


def reason_of_target(metadata: PartitionMetadata) -> State | None:
    """Return why a target alone lets nothing be translated, None if it does not."""
    if metadata.cut_at is not None:
        metadata = metadata._replace(cut_at=None, frontier=min(metadata.cut_at, metadata.frontier))
    return reason_of(metadata)


class GivenOffsets(NamedTuple):
    """Offsets at the source, each the next to read, and what is known of how they were made; shape (offsets,).

    *at_ms* is when (since the epoch), *leader_epoch* that of the last record read, ``ABSENT`` where nobody knows it.
    *topic_ids* are the incarnations of the topic that they name (None: it names none). *stands* says for which of them
    the last answer can be given again; None: for none.
    """

    offset: Int64s
    at_ms: Int64s
    leader_epoch: Int64s
    topic_ids: Sequence[str | None]
    stands: NDArray[np.bool_] | None = None


def of_former_lives(given: GivenOffsets, lives: Sequence[Incarnation]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset that may have been made in an earlier life of its log, else ABSENT.

    It says that records were read which stand there no more; of those that stand there now nobody knows. One that names
    the topic's present incarnation belongs to it; a cut log keeps its topic, so then only time tells. Errs to
    withholding: what was made at an unknown time may be of any life.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for life in lives:
        names_it = np.array([life.is_anew and each == life.topic_id for each in given.topic_ids], np.bool_)
        is_earlier = given.at_ms <= life.noticed_ms + CLOCKS_APART_MS
        reason = State.TOPIC_RECREATED if life.is_anew else State.LOG_TRUNCATED
        reasons[(given.offset > life.begins_at) & is_earlier & ~names_it] = reason
    return reasons


def of_lost_records(given: GivenOffsets, ends: Sequence[EpochEnd]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset whose last record was lost when another leader was elected.

    It need not have been indexed. Whoever does not say which epoch was read is believed, as Kafka does.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for each in ends:
        is_lost = (given.leader_epoch != ABSENT) & (given.leader_epoch < each.below) & (given.offset > each.end)
        reasons[is_lost] = State.LOG_TRUNCATED
    return reasons
