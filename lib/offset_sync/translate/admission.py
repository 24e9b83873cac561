"""May a partition be translated at all? Every reason not to has a name; the pure rules are here."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from offset_sync.model import State
from offset_sync.translate.logindex import LogIndex


@dataclass(frozen=True)
class PartitionView:
    """What one cluster says of one partition, and what the index knows of it.

    *topic_id* None: the topic is not there. *indexed_ids* are the incarnations that the index has met, *frontier*
    is how far it had read *before* the cluster was asked: later it may well be further than the log end of then.
    """

    topic_id: str | None
    partitions: int
    log_start: int
    log_end: int
    indexed_ids: AbstractSet[str] = field(default_factory=frozenset)
    index: LogIndex | None = None
    frontier: int = 0


def reason_to_withhold(strategy: str, source: PartitionView | None, target: PartitionView) -> State | None:
    """Return why no commit of this partition may be translated, None if it may.

    *source* None means that the source cannot be asked, as after a disaster: what is known of it is then trusted.
    """
    if strategy != "exact":
        return State.STRATEGY_UNAVAILABLE
    for view in (source, target):
        if view is not None and (reason := _reason_of(view)) is not None:
            return reason
    if source is not None and source.partitions != target.partitions:
        return State.PARTITIONS_DIFFER
    if target.index is None and target.log_end > target.log_start:
        return State.NOT_INDEXED
    return None


def _reason_of(view: PartitionView) -> State | None:
    if view.topic_id is None:
        return State.TOPIC_MISSING
    if view.indexed_ids and view.indexed_ids != {view.topic_id}:
        return State.TOPIC_RECREATED
    if view.frontier > view.log_end:
        return State.LOG_TRUNCATED
    return None
