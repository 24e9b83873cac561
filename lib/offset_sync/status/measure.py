"""What one partition's two logs say about a group's commit at the source and its position at the target.

MirrorMaker's offsets are measured beside ours. They are shown, and nothing else: no answer, status or write follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.state.snapshot import Commits
from offset_sync.status.assessment import Assessment, Bools
from offset_sync.status.log_comparison import LogComparison, LogPair
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.position_cost import position_cost
from offset_sync.translate.replication_gap import copies_between


def measure(
    logs: LogPair,
    comparison: LogComparison,
    commits: Commits,
    answers: Translations,
    target_offset: Int64s,
    has_target_offset: Bools,
) -> Assessment:
    """Assess *commits* of one partition, translated as *answers*, against the positions of their groups at the target.

    Errs to more unread, more pending, more not mirrored. The *comparison* is from :func:`readable_from` on.
    """
    committed, readable = commits.offset, readable_from(logs, commits.offset)
    left = np.maximum(committed, _log_start(logs))
    source_end, target_end = log_end(logs.source_metadata), log_end(logs.target_metadata)
    beyond_index, missing_beyond_index = _beyond_index(logs, left, source_end)
    repeats, skipped = cost_at(logs, committed, answers, target_offset, has_target_offset)
    not_mirrored = comparison.not_mirrored.count_from(readable) + missing_beyond_index
    deleted = comparison.deleted.count_from(readable)
    unindexed_source = np.maximum(beyond_index, max(0, source_end - logs.source.frontier))
    return Assessment(
        key=commits.key,
        source_offset=committed,
        state=answers.state,
        wanted_offset=answers.wanted,
        duplicates=np.maximum(answers.duplicates + repeats, 0),
        duplicates_at_most=np.maximum(answers.duplicates_at_most + repeats, 0),
        lost=answers.lost + skipped + not_mirrored + deleted,
        target_offset=target_offset,
        has_target_offset=has_target_offset,
        is_outside=has_target_offset & is_outside(logs.target_metadata, target_offset),
        repeats=repeats,
        skipped=skipped,
        unread=logs.source.paged.records_from(left, logs.source.frontier) + beyond_index,
        unread_newer=logs.source.paged.records_from(np.maximum(left, logs.snapshot_end), logs.source.frontier),
        pending=comparison.pending.count_from(readable) + missing_beyond_index,
        not_mirrored=not_mirrored,
        deleted=deleted,
        # What the group has read at the source beyond its index may be above its position at the target.
        unindexed=unindexed_source + max(0, target_end - logs.target.frontier),
        **_of_partition(logs, comparison, len(committed)),
    )


def _of_partition(logs: LogPair, comparison: LogComparison, count: int) -> dict[str, Any]:
    """Return the columns that are the same for all *count* groups of the partition."""
    values = {
        "arriving": (comparison.arriving, np.int64),
        "is_unstamped": (logs.is_unstamped, np.bool_),
        "source_end": (log_end(logs.source_metadata), np.int64),
        "has_source_end": (has_log_end(logs.source_metadata), np.bool_),
        "target_end": (log_end(logs.target_metadata), np.int64),
        "has_target_end": (has_log_end(logs.target_metadata), np.bool_),
        "mirror_lag": (comparison.pending.total, np.int64),
        "pending_since_ms": (comparison.pending_since_ms, np.int64),
        "mirror_gaps": (comparison.gaps, np.int64),
        "mirror_lag_by_origin": (comparison.lag_by_origin, np.object_),
        "origin_share": (comparison.origin_share, np.object_),
    }
    return {name: np.full(count, value, dtype) for name, (value, dtype) in values.items()}


def readable_from(logs: LogPair, committed: Int64s) -> Int64s:
    """Return from where on records count, each at its first place, that groups can still read at the source.

    What the source has deleted no move can lose. The commits themselves where it cannot be asked, and where something
    came late or again, which may be there at a later place.
    """
    return committed if logs.source.reorder_count() else np.maximum(committed, _log_start(logs))


def _log_start(logs: LogPair) -> int:
    return logs.source_metadata.log_start if logs.source_metadata is not None else 0


def has_log_end(metadata: PartitionMetadata | None) -> bool:
    """True where the log end is known: the cluster and the partition's leader answer, and the topic exists."""
    return metadata is not None and metadata.topic_id is not None


def log_end(metadata: PartitionMetadata | None) -> int:
    """Return the log end, 0 where :func:`has_log_end` is False."""
    return metadata.log_end if metadata is not None and metadata.topic_id is not None else 0


def _beyond_index(logs: LogPair, left: Int64s, source_end: int) -> tuple[Int64s, Int64s]:
    """Return how many offsets from *left* on the source's index does not cover, and how many the target lacks.

    Before its index begins, and beyond its frontier. The target's copies of them are known by their origin offset.
    """
    begin, frontier = logs.source.begin, logs.source.frontier
    count, missing = np.zeros((2, len(left)), np.int64)
    for low, end in ((left, begin), (np.maximum(left, frontier), source_end)):
        high = np.full(len(left), end)
        offsets = np.maximum(high - low, 0)
        if offsets.any():
            count += offsets
            missing += np.where(offsets > 0, offsets - copies_between(logs.source_origin, logs.target, low, high), 0)
    return count, missing


def cost_at(
    logs: LogPair, committed: Int64s, answers: Translations, target_offset: Int64s, has_target_offset: Bools
) -> tuple[Int64s, Int64s]:
    """Return what each group repeats and skips at *target_offset*, compared with the translation; 0 without both.

    Repeats are negative where what the group would skip was read by it.
    """
    repeats, skipped = np.zeros(len(committed), np.int64), np.zeros(len(committed), np.int64)
    is_elsewhere = ~IS_WITHHELD[answers.state] & has_target_offset & (answers.wanted != target_offset)
    rows = np.flatnonzero(is_elsewhere)
    if len(rows):
        position, wanted = target_offset[rows], answers.wanted[rows]
        log_start = logs.target_metadata.log_start if logs.target_metadata is not None else 0
        found = position_cost(
            committed[rows],
            wanted,
            np.maximum(position, log_start),
            PartitionLog(logs.source, logs.source_origin),
            PartitionLog(logs.target, logs.target_origin),
            logs.unread_since_ms,
        )
        # What lies between the end of the index and a position beyond it is not known, so it counts as unread.
        frontier = np.maximum(logs.target.frontier, wanted)
        unknown = np.minimum(position, log_end(logs.target_metadata)) - frontier
        repeats[rows], skipped[rows] = found.repeats, found.skipped + np.maximum(unknown, 0)
    return repeats, skipped


def is_outside(metadata: PartitionMetadata | None, offset: Int64s) -> Bools:
    """Return where the log does not hold *offset*: a consumer would start where its own options say."""
    if metadata is None:
        return np.zeros(len(offset), np.bool_)
    is_outside: Bools = (offset < metadata.log_start) | (offset > metadata.log_end)
    return is_outside


def checkpoint_offsets(said: MirrorCheckpoints | None, source: str, keys: Sequence[GroupPartition]) -> Int64s:
    """Return where MirrorMaker would have the groups of *source*, ABSENT where it has not said; shape (keys,)."""
    found = np.full(len(keys), ABSENT, np.int64)
    if said is not None and said.is_there:
        newest = (said.newest(source, key) for key in keys)
        found[:] = [ABSENT if each is None else each.offset for each in newest]
    return found


def with_checkpoints(assessment: Assessment, logs: LogPair, answers: Translations, offset: Int64s) -> Assessment:
    """Add what going on at *offset* (MirrorMaker's, ABSENT for none) would cost, compared with the translation.

    ABSENT where the commit is withheld, or the target's log does not reach it. Errs to more lost: what is not known to
    be read counts as unread.
    """
    is_said = offset != ABSENT
    position = np.where(is_said, offset, 0)
    repeats, lost = cost_at(logs, assessment.source_offset, answers, position, is_said)
    is_known = is_said & ~IS_WITHHELD[answers.state] & ~is_outside(logs.target_metadata, position)
    return replace(
        assessment,
        mirror_maker_offset=offset,
        mirror_maker_behind=np.where(is_known, np.maximum(repeats, 0), ABSENT),
        mirror_maker_lost=np.where(is_known, lost, ABSENT),
    )
