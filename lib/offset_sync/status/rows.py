"""An assessment as columns of sync_status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.model.values import ABSENT, State, Status
from offset_sync.status.assessment import Assessment, Bools
from offset_sync.translate.index.runs import Int64s

Rows = dict[str, list[Any]]
"""Columns of sync_status but ``reported_at``, by name."""
_WORDS = [status.word for status in Status]


def to_columns(assessment: Assessment, names: Names = SAME_NAMES) -> Rows:
    """Return the columns of sync_status; what is not known is null. Keys have streams, of which *names* are known."""
    count, one = len(assessment.keys), assessment
    is_placed, is_source_known, is_target_known = one.has_target_offset, one.has_source_end, one.has_target_end
    # Where the target's log does not reach, the consumer's own options decide where it goes on.
    # Of a commit that is not captured yet nobody can tell what it costs.
    is_known = ~one.is_withheld & is_placed & ~one.is_outside & ~one.is_uncaptured
    return {
        "source_cluster": [one.source] * count,
        "target_cluster": [one.target] * count,
        "group_id": [group_id for group_id, _, _ in one.keys],
        "topic": [names.outside(one.source, topic) for _, topic, _ in one.keys],
        "partition": [partition for _, _, partition in one.keys],
        "status": [_WORDS[code] for code in one.status.tolist()],
        "reason": one.reason.tolist(),
        "state": [State(code).name for code in one.state.tolist()],
        "source_offset": one.source_offset.tolist(),
        "source_committed_at": one.committed_at_ms.tolist(),
        "wanted_offset": _where(~one.is_withheld, one.wanted_offset),
        "target_offset": _where(is_placed, one.target_offset),
        "source_end": _where(is_source_known, one.source_end),
        "target_end": _where(is_target_known, one.target_end),
        "source_lag": _where(is_source_known, np.maximum(one.source_end - one.source_offset, 0)),
        "target_lag": _where(is_target_known & is_placed, np.maximum(one.target_end - one.target_offset, 0)),
        "duplicates": _where(is_known, one.duplicates),
        "duplicates_at_most": _where(is_known, one.duplicates_at_most),
        "lost": _where(is_known & ~one.is_unstamped, one.lost),
        "not_mirrored": one.not_mirrored.tolist(),
        "mirror_lag": one.mirror_lag.tolist(),
        "mirror_lag_ms": one.mirror_lag_ms.tolist(),
        "mirror_lag_by_origin": one.mirror_lag_by_origin.tolist(),
        "mirror_gaps": one.mirror_gaps.tolist(),
        "origin_share": one.origin_share.tolist(),
        "staleness_ms": one.staleness_ms.tolist(),
        "is_target_active": _where(one.is_activity_known, one.is_target_active),
        "stream": [topic for _, topic, _ in one.keys],
        "target_topic": [names.topic(one.target, topic) for _, topic, _ in one.keys],
        "mirror_maker_offset": _where(one.mirror_maker_offset != ABSENT, one.mirror_maker_offset),
        "mirror_maker_behind": _where(one.mirror_maker_behind != ABSENT, one.mirror_maker_behind),
        "mirror_maker_lost": _where(one.mirror_maker_lost != ABSENT, one.mirror_maker_lost),
        "elsewhere": one.elsewhere.tolist(),
        "uncommitted": one.uncommitted.tolist(),
        "mirror_maker_doubt": one.mirror_maker_doubt.tolist(),
    }


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all *parts*, in order; no column where there are none."""
    names = parts[0] if parts else ()
    return {name: [value for part in parts for value in part[name]] for name in names}


def _where(is_known: Bools, values: Int64s | Bools) -> list[int | None]:
    """Return *values*, None where they are not known."""
    return [value if known else None for value, known in zip(values.tolist(), is_known.tolist(), strict=True)]
