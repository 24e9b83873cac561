"""May a partition be translated at all? Every reason not to has a name; the pure rules are here."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from offset_sync.model.values import State
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.origin_positions import NO_LIMIT


@dataclass(frozen=True)
class PartitionMetadata:
    """What one cluster says of one partition, and what the index knows of it.

    *topic_id* None: the topic is not there, or (*is_refused*) nobody may say; empty: nobody can tell. *indexed_ids* are
    the incarnations that the index has met, *frontier* is how far it had read *before* the cluster was asked: later it
    may well be further than the log end of then.
    """

    topic_id: str | None
    partitions: int
    log_start: int
    log_end: int
    indexed_ids: AbstractSet[str] = field(default_factory=frozenset)
    index: LogIndex | None = None
    frontier: int = 0
    is_refused: bool = False


def reason_to_withhold(source: PartitionMetadata | None, target: PartitionMetadata) -> State | None:
    """Return why no commit of this partition may be translated, None if it may.

    *source* None means that nothing but the index is known of the source, and that it is trusted.
    """
    for view in (source, target):
        if view is not None and (reason := _reason_of(view)) is not None:
            return reason
    if source is not None and source.partitions != target.partitions:
        return State.PARTITIONS_DIFFER
    if target.index is None and target.log_end > target.log_start:
        return State.NOT_INDEXED
    return None


def last_known(
    indexed_ids: AbstractSet[str], indexed: int, partition: int, target: PartitionMetadata
) -> PartitionMetadata:
    """Return the view of a *partition* whose cluster cannot be asked, as after a disaster; its log may have any end.

    What withheld its commits while it could be asked has to withhold them still: the incarnations that the index has
    met, and how many partitions of the topic it has *indexed* (0: unknown, then taken as the target's).
    """
    least = partition + 1
    partitions = max(indexed, least) if indexed or least > target.partitions else target.partitions
    return PartitionMetadata(min(indexed_ids, default=""), partitions, 0, int(NO_LIMIT), indexed_ids)


def _reason_of(view: PartitionMetadata) -> State | None:
    if view.is_refused:
        return State.TOPIC_UNAUTHORIZED
    if view.topic_id is None:
        return State.TOPIC_MISSING
    if view.indexed_ids and view.indexed_ids != {view.topic_id}:
        return State.TOPIC_RECREATED
    if view.frontier > view.log_end:
        return State.LOG_TRUNCATED
    return None
