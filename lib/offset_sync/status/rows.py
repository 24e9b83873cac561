"""What was found out about a pair of clusters as columns of sync_status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import GroupPartition, State
from offset_sync.state.snapshot import Commits
from offset_sync.status.classify import STATUSES, Facts
from offset_sync.status.measure import NOBODY_KNOWS, Measured
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD, Translations

Rows = dict[str, list[Any]]
"""Columns of sync_status but ``reported_at``, by name."""


@dataclass(frozen=True)
class Found:
    """Answers and measurements of one source and one target, a row per key; *standing* is -1 where nothing is."""

    source: str
    target: str
    keys: Sequence[GroupPartition]
    commits: Commits
    answers: Translations
    standing: Int64s
    measured: Measured

    @property
    def lost(self) -> Int64s:
        """The unread records that each group would never see if it went on where it stands at the target."""
        measured = self.measured
        return self.answers.lost + measured.skipped + measured.not_mirrored + measured.gone


def to_columns(
    found: Found, facts: Facts, status: NDArray[np.intp], why: Sequence[str | None], is_active: Sequence[bool | None]
) -> Rows:
    """Return the columns of sync_status; what nobody can tell is None."""
    answers, measured, count = found.answers, found.measured, len(found.keys)
    is_withheld, is_nowhere = IS_WITHHELD[answers.state], found.standing < 0
    # Where the target's log does not reach, the consumer's own options decide where it goes on.
    is_untold = is_withheld | is_nowhere | measured.is_outside
    source_end, target_end = measured.source_end, measured.target_end
    return {
        "source_cluster": [found.source] * count,
        "target_cluster": [found.target] * count,
        "group_id": [group_id for group_id, _, _ in found.keys],
        "topic": [topic for _, topic, _ in found.keys],
        "partition": [partition for _, _, partition in found.keys],
        "status": [STATUSES[code].value for code in status.tolist()],
        "reason": list(why),
        "state": [State(code).name for code in answers.state.tolist()],
        "source_offset": found.commits.offset.tolist(),
        "source_committed_at": found.commits.at_ms.tolist(),
        "wanted_offset": _unless(is_withheld, answers.wanted),
        "target_offset": _unless(is_nowhere, found.standing),
        "source_end": _unless(source_end == NOBODY_KNOWS, source_end),
        "target_end": _unless(target_end == NOBODY_KNOWS, target_end),
        "source_lag": _unless(source_end == NOBODY_KNOWS, np.maximum(source_end - found.commits.offset, 0)),
        "target_lag": _unless((target_end == NOBODY_KNOWS) | is_nowhere, np.maximum(target_end - found.standing, 0)),
        "duplicates": _unless(is_untold, np.maximum(answers.duplicates + measured.repeats, 0)),
        "duplicates_at_most": _unless(is_untold, np.maximum(answers.duplicates_at_most + measured.repeats, 0)),
        "lost": _unless(is_untold | measured.is_untold, found.lost),
        "not_mirrored": measured.not_mirrored.tolist(),
        "mirror_lag": measured.mirror_lag.tolist(),
        "mirror_lag_ms": facts.mirror_lag_ms.tolist(),
        "mirror_lag_by_origin": measured.lag_by_origin.tolist(),
        "mirror_gaps": measured.mirror_gaps.tolist(),
        "origin_share": measured.origin_share.tolist(),
        "staleness_ms": facts.staleness_ms.tolist(),
        "is_target_active": list(is_active),
    }


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all *parts*, in order; no column where there are none."""
    names = parts[0] if parts else ()
    return {name: [value for part in parts for value in part[name]] for name in names}


def _unless(is_unknown: NDArray[np.bool_], values: Int64s) -> list[int | None]:
    return [None if hidden else value for value, hidden in zip(values.tolist(), is_unknown.tolist(), strict=True)]
