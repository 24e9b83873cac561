"""One status per partition of a group: may it be moved now, or what it waits for. Columns in, columns out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT, State, Status
from offset_sync.status.assessment import STATE_NAMES, Assessment, Bools, has_text
from offset_sync.translate.index.runs import Int64s


class _Cause(NamedTuple):
    """A condition, and the reason of a row where it is the first one to hold, with columns of its values."""

    holds: Bools
    reason: Reason
    values: Sequence[NDArray[Any]] = ()

    def also(self, condition: Bools) -> _Cause:
        """Return the same cause, holding only where *condition* does too."""
        return self._replace(holds=self.holds & condition)

    def text(self, row: int) -> str:
        """Return the reason of a row."""
        return self.reason(*(column[row] for column in self.values))


Causes = Sequence[_Cause]
"""Causes, the most important first."""


def _counted(reason: Reason, counts: Int64s) -> _Cause:
    return _Cause(counts > 0, reason, [counts])


def _told(texts: NDArray[np.object_]) -> _Cause:
    return _Cause(has_text(texts), Reason.TOLD, [texts])


def classify(assessment: Assessment, stalled_after_ms: int) -> Assessment:
    """Return *assessment* with ``status`` and ``reason``; rows that :func:`needs_comparison` names are not final.

    Errs to not in sync: unknown counts as different.
    """
    is_contested = has_text(assessment.contest)
    withheld_as = np.where(is_contested, assessment.contest, STATE_NAMES[assessment.state])
    behind = _behind(assessment)
    causes: dict[Status, Causes] = {
        Status.WITHHELD: [_Cause(assessment.is_withheld, Reason.TOLD, [withheld_as])],
        Status.TARGET_ACTIVE: [_Cause(assessment.is_target_active, Reason.TARGET_HAS_MEMBERS)],
        Status.STALLED: _stalled(assessment, behind, stalled_after_ms),
        Status.BEHIND: behind,
        Status.MIRRORING: _mirroring(assessment),
    }
    holds = [_is_any(of_status) for of_status in causes.values()]
    codes: NDArray[np.intp] = np.select(holds, list(causes), Status.IN_SYNC)
    reasons = _reasons(codes, causes)
    is_noted = (
        is_of_tables(assessment) & np.isin(codes, (Status.STALLED, Status.BEHIND)) & (assessment.source_end != ABSENT)
    )
    for row in np.flatnonzero(is_noted).tolist():
        reasons[row] += f" ({Reason.OF_TABLES(assessment.not_asked[row])})"
    return replace(assessment, status=codes, reason=reasons)


def is_of_tables(assessment: Assessment) -> Bools:
    """Return where a coordinator did not answer, so that a row is based on the tables for its cluster."""
    return has_text(assessment.not_asked)


def needs_comparison(assessment: Assessment) -> Bools:
    """Return the rows that are in sync only if their next records are the same on both sides."""
    is_at_end = assessment.state == State.AT_FRONTIER
    needed: Bools = (assessment.status == Status.IN_SYNC) & ~is_at_end
    return needed


def _reasons(codes: NDArray[np.intp], causes: Mapping[Status, Causes]) -> NDArray[np.object_]:
    """Return the text of the first cause that holds for each row's status, None where it is in sync."""
    reasons = np.full(len(codes), None, np.object_)
    for status, of_status in causes.items():
        is_open = codes == status
        for cause in of_status:
            for row in np.flatnonzero(is_open & cause.holds).tolist():
                reasons[row] = cause.text(row)
            is_open &= ~cause.holds
    return reasons


def _is_any(causes: Causes) -> Bools:
    found: Bools = np.logical_or.reduce([cause.holds for cause in causes])
    return found


def _stalled(assessment: Assessment, behind: Causes, after_ms: int) -> Causes:
    index_ms = assessment.index_silent_ms
    holds = assessment.holds_translation & ~assessment.is_uncaptured
    is_stale = ~holds & (assessment.staleness_ms > after_ms)
    is_late = holds & (assessment.mirror_lag_ms > after_ms)
    return [
        _told(assessment.unreadable),
        _Cause(index_ms > after_ms, Reason.INDEX_SILENT, [index_ms // 1000]),
        *(cause.also(is_stale) for cause in behind),
        _Cause(holds & (assessment.source_end == ABSENT), Reason.SOURCE_SILENT),
        _counted(Reason.NOT_MIRRORED, assessment.pending).also(is_late),
        _counted(Reason.READ_NOT_MIRRORED, assessment.arriving).also(is_late),
    ]


def _behind(assessment: Assessment) -> Causes:
    return [
        # The reported position is stale: sync_offsets has not read the group's newest commit.
        _Cause(assessment.is_uncaptured, Reason.NOT_CAPTURED, _at_source(assessment)),
        _Cause(assessment.target_offset == ABSENT, Reason.NOTHING_COMMITTED),
        _counted(Reason.TARGET_AHEAD, assessment.skipped),
        _Cause(assessment.is_outside, Reason.OUTSIDE_LOG, [assessment.target_offset]),
        _counted(Reason.TARGET_BEHIND, assessment.repeats),
    ]


def _mirroring(assessment: Assessment) -> Causes:
    one_sided = assessment.is_one_sided
    return [
        _told(assessment.still_skips),
        _counted(Reason.NOT_MIRRORED, assessment.pending),
        _counted(Reason.NEVER_THERE, assessment.lost),
        _counted(Reason.READ_NOT_MIRRORED, assessment.arriving),
        _counted(Reason.READ_ABOVE, assessment.duplicates_at_most),
        _counted(Reason.UNINDEXED, assessment.unindexed),
        _Cause(assessment.unread_commits, Reason.COMMITS_UNREAD),
        _Cause(is_of_tables(assessment), Reason.OF_TABLES, [assessment.not_asked]),
        # The group has committed since its coordinator was asked: the report is of the time before.
        _Cause(assessment.has_moved_on, Reason.MOVED_ON, _at_source(assessment)),
        _Cause(assessment.is_changing, Reason.CHANGES),
        _Cause(assessment.is_unstamped, Reason.UNSTAMPED),
        _Cause(one_sided & (assessment.unread == 0), Reason.IN_FLIGHT),
        _Cause(one_sided, Reason.NOTHING_TO_COMPARE),
    ]


def _at_source(assessment: Assessment) -> Sequence[NDArray[Any]]:
    """Return the source, the offset that it holds, and the newest captured one."""
    held = np.where(assessment.held_at_source == ABSENT, "no offset", assessment.held_at_source.astype(object))
    return np.full(len(held), assessment.source, object), held, assessment.source_offset
