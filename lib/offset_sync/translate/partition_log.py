"""One side of a translation: a partition's log, as its index and cluster describe it, and reasons to withhold.

Also offsets that are given to be translated, and which of them refer to records that are gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, EpochEnd, State
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s


class Incarnation(NamedTuple):
    """A log has other records from *begins_at* on since *noticed_ms* (since the epoch, the indexing job's clock).

    *topic_id* is that of the topic since then. *is_recreated*: the topic was recreated; else the log was truncated.
    """

    begins_at: int
    noticed_ms: int
    topic_id: str
    is_recreated: bool


class PartitionMetadata(NamedTuple):
    """What one cluster reports of one partition, and which of its topic's incarnations the index has read.

    *topic_id* is None if there is no such topic or (*is_refused*) we may not describe it, and empty if unknown.
    *log_start* and *log_end* are offsets, both 0 where the topic has fewer partitions (*is_missing*). *indexed_ids* are
    the topic ids in the index. *frontier* is how far the index had read *before* the cluster was queried: by now it may
    be past the reported log end. *cut_at*: the log was truncated there, below its index; from there on it has other
    records, or none, and below it the same. None: not truncated, as far as leader epochs show, or
    *is_cut_somewhere*: at an unknown offset.
    """

    topic_id: str | None
    log_start: int
    log_end: int
    indexed_ids: AbstractSet[str] = frozenset()
    frontier: int = 0
    is_refused: bool = False
    is_missing: bool = False
    cut_at: int | None = None
    is_cut_somewhere: bool = False


NOT_ASKED = PartitionMetadata(topic_id="", log_start=0, log_end=NO_LIMIT)
"""The cluster was not queried: nothing is deleted, as far as we know, and the log may have any end."""


@dataclass(frozen=True)
class PartitionLog:
    """A partition's log on one cluster.

    *origin* is the code of the records that are produced at this cluster. Where the partition is not indexed
    (*is_indexed* False) *index* is empty.
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
        """The first offset that retention has not deleted."""
        return self.metadata.log_start


def reason_to_withhold(source: PartitionLog, target: PartitionLog) -> State | None:
    """Return why no commit of this partition may be translated, None if it may.

    Errs to withholding: if a topic was recreated on either side, or the source's log truncated, identities repeat, so
    nothing is translated until the log is indexed again. A truncated target log is as indexed below the cut, so answers
    up to there are valid, if the cut is known. A partition that only one side has withholds no other: mirrors copy into
    the same partition, whatever producers do with their keys. Only an empty target log needs no index.
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

    Its log may have any end, so no commit counts as beyond it. The commit shows that the cluster has the partition.
    Topic ids in the index withhold what they withheld while the cluster still answered.
    """
    return PartitionMetadata(min(indexed_ids, default=""), 0, NO_LIMIT, indexed_ids)


def reason_of(metadata: PartitionMetadata) -> State | None:
    """Return why a source alone withholds all, None if it does not; for a target see :func:`reason_of_target`."""
    if metadata.is_refused:
        return State.TOPIC_UNAUTHORIZED
    if metadata.topic_id is None:
        return State.TOPIC_MISSING
    if metadata.indexed_ids and metadata.indexed_ids != {metadata.topic_id}:
        return State.TOPIC_RECREATED
    is_cut = metadata.cut_at is not None or metadata.is_cut_somewhere or metadata.frontier > metadata.log_end
    return State.LOG_TRUNCATED if is_cut else None


def reason_of_target(metadata: PartitionMetadata) -> State | None:
    """Return why a target alone withholds all, None if it does not."""
    if metadata.cut_at is not None:
        metadata = metadata._replace(cut_at=None, frontier=min(metadata.cut_at, metadata.frontier))
    return reason_of(metadata)


class GivenOffsets(NamedTuple):
    """Offsets at the source, each the next to read, and what is known of how they were made; shape (offsets,).

    *at_ms* is when (since the epoch), *leader_epoch* that of the last record read, ``ABSENT`` if unknown. *topic_ids*
    are the incarnations of the topic that they name (None: it names none).
    """

    offset: Int64s
    at_ms: Int64s
    leader_epoch: Int64s
    topic_ids: Sequence[str | None]


def of_former_incarnations(given: GivenOffsets, incarnations: Sequence[Incarnation]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset that may be of a former incarnation of its log, else ABSENT.

    The records it covers are gone; whether the present ones were read is unknown. One that names the topic's present
    incarnation belongs to it; a truncated log keeps its topic, so then only time tells. Errs to withholding: an offset
    of unknown time may be of any incarnation.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for incarnation in incarnations:
        names_it = np.array(
            [incarnation.is_recreated and each == incarnation.topic_id for each in given.topic_ids], np.bool_
        )
        is_earlier = given.at_ms <= incarnation.noticed_ms + CLOCKS_APART_MS
        reason = State.TOPIC_RECREATED if incarnation.is_recreated else State.LOG_TRUNCATED
        reasons[(given.offset > incarnation.begins_at) & is_earlier & ~names_it] = reason
    return reasons


def of_lost_records(given: GivenOffsets, ends: Sequence[EpochEnd]) -> NDArray[np.intp]:
    """Return the reason to withhold each offset whose last record was lost when another leader was elected.

    The record need not have been indexed. Offsets without an epoch are accepted, as in Kafka.
    """
    reasons = np.full(len(given.offset), ABSENT, np.intp)
    for each in ends:
        is_lost = (given.leader_epoch != ABSENT) & (given.leader_epoch < each.below) & (given.offset > each.end)
        reasons[is_lost] = State.LOG_TRUNCATED
    return reasons
