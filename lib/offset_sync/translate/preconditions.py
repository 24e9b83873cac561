"""May a partition be translated at all? Pure rules, one named reason for each case in which it may not."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from offset_sync.model.values import State
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata


def reason_to_withhold(source: PartitionLog, target: PartitionLog) -> State | None:
    """Return why no commit of this partition may be translated, None if it may.

    Errs to withholding: a topic recreated or a log cut on either side makes identities repeat, so nothing is
    translated until the log has been indexed anew. Only an empty target log needs no index.
    """
    for side in (source, target):
        if (reason := _reason_of(side.metadata)) is not None:
            return reason
    if source.metadata.partitions != target.metadata.partitions:
        return State.PARTITIONS_DIFFER
    if not target.is_indexed and target.metadata.log_end > target.log_start:
        return State.NOT_INDEXED
    if source.index.is_contradicted or target.index.is_contradicted:
        return State.LOG_TRUNCATED
    return None


def last_known(
    indexed_ids: AbstractSet[str], indexed: int, partition: int, target: PartitionMetadata
) -> PartitionMetadata:
    """Return the metadata of a *partition* whose cluster cannot be asked, as after a disaster.

    Its log may have any end, so no commit counts as beyond it. Whatever withheld its commits while the cluster still
    answered must go on withholding them: the topic ids that the index has met, and how many partitions of the topic it
    has *indexed* (0: unknown, so the target's number is taken).
    """
    least = partition + 1
    partitions = max(indexed, least) if indexed or least > target.partitions else target.partitions
    return PartitionMetadata(min(indexed_ids, default=""), partitions, 0, int(NO_LIMIT), indexed_ids)


def _reason_of(metadata: PartitionMetadata) -> State | None:
    if metadata.is_refused:
        return State.TOPIC_UNAUTHORIZED
    if metadata.topic_id is None:
        return State.TOPIC_MISSING
    if metadata.indexed_ids and metadata.indexed_ids != {metadata.topic_id}:
        return State.TOPIC_RECREATED
    if metadata.frontier > metadata.log_end:
        return State.LOG_TRUNCATED
    return None
