"""One status per partition of a group: may it be moved now, or what it waits for. Columns in, columns out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, State, Status
from offset_sync.status.assessment import STATE_NAMES, Assessment, Bools, has_text
from offset_sync.translate.index.runs import Int64s

_OF_TABLES = "committed offsets known from the tables only: {}"


@dataclass(frozen=True)
class _Cause:
    """A condition, and the reason of a row where it is the first one to hold."""

    holds: Bools
    text_of: Callable[[int], str]

    def also(self, condition: Bools) -> _Cause:
        """Return the same cause, holding only where *condition* does too."""
        return replace(self, holds=self.holds & condition)


Causes = Sequence[_Cause]
"""Causes, the most important first."""


def _cause(holds: Bools, text: str) -> _Cause:
    return _Cause(holds, lambda row: text)


def _with_value(holds: Bools, text: str, values: NDArray[Any]) -> _Cause:
    """Return a cause whose *text* has ``{}`` for the row's value."""
    return _Cause(holds, lambda row: text.format(values[row]))


def _counted(counts: Int64s, text: str) -> _Cause:
    """Return a cause that holds where *counts* are above 0; *text* has ``{}`` for ``1 record`` or ``2 records``."""
    return _Cause(counts > 0, lambda row: text.format(f"{counts[row]:,} record{'' if counts[row] == 1 else 's'}"))


def classify(assessment: Assessment, stalled_after_ms: int) -> Assessment:
    """Return *assessment* with ``status`` and ``reason``; rows that :func:`needs_comparison` names are not final.

    Errs to not in sync: unknown counts as different.
    """
    is_contested = has_text(assessment.contest)
    withheld_as = np.where(is_contested, assessment.contest, STATE_NAMES[assessment.state])
    withheld = _with_value(assessment.is_withheld, "{}", withheld_as)
    active = _cause(assessment.is_target_active, "the target's group has members")
    behind = _behind(assessment)
    causes: dict[Status, Causes] = {
        Status.WITHHELD: [withheld],
        Status.TARGET_ACTIVE: [active],
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
        reasons[row] += f" ({_OF_TABLES.format(assessment.not_asked[row])})"
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
                reasons[row] = cause.text_of(row)
            is_open &= ~cause.holds
    return reasons


def _is_any(causes: Causes) -> Bools:
    found: Bools = np.logical_or.reduce([cause.holds for cause in causes])
    return found


def _stalled(assessment: Assessment, behind: Causes, after_ms: int) -> Causes:
    sync_ms, index_ms = assessment.sync_silent_ms, assessment.index_silent_ms
    holds = assessment.holds_translation & ~assessment.is_uncaptured
    is_stale = ~holds & (assessment.staleness_ms > after_ms)
    is_late = holds & (assessment.mirror_lag_ms > after_ms)
    return [
        _with_value(has_text(assessment.unreadable), "{}", assessment.unreadable),
        _with_value(sync_ms > after_ms, "sync_offsets has made no progress for {} s", sync_ms // 1000),
        _with_value(index_ms > after_ms, "index_records has made no progress for {} s", index_ms // 1000),
        *(cause.also(is_stale) for cause in behind),
        _cause(holds & (assessment.source_end == ABSENT), "the source does not answer"),
        _pending(assessment).also(is_late),
        _arriving(assessment).also(is_late),
    ]


def _behind(assessment: Assessment) -> Causes:
    by = "committed by another client"
    skipped, repeats = assessment.skipped, assessment.repeats
    unreachable = f"offset {{}} is outside the target's log: {by}, or its records have expired"
    held, uncaptured = _held_back(assessment), "{}, the newest captured commit is {}: is sync_offsets running?"
    causes: Causes = [
        # The reported position is stale: sync_offsets has not read the group's newest commit.
        _of_source(assessment, assessment.is_uncaptured, uncaptured),
        _cause(assessment.target_offset == ABSENT, "nothing committed at the target"),
        _counted(skipped, f"the target is ahead: {{}} unread below its offset, {by}"),
        _with_value(assessment.is_outside, unreachable, assessment.target_offset),
        _counted(repeats, "the target is {} behind"),
    ]
    return [held.also(_is_any(causes)), *causes]


def _mirroring(assessment: Assessment) -> Causes:
    one_sided = assessment.is_one_sided
    unstamped = "the mirror stamps no headers: cannot tell which records are mirrored"
    return [
        _held_back(assessment),
        _with_value(has_text(assessment.still_skips), "{}", assessment.still_skips),
        _pending(assessment),
        _counted(assessment.lost, "{} unread and permanently missing at the target: dropped or deleted"),
        _arriving(assessment),
        _counted(assessment.duplicates_at_most, "{} already read, above the first unread one"),
        _counted(assessment.unindexed, "{} not indexed yet"),
        _counted(assessment.unread_commits, "{} of __consumer_offsets not read yet"),
        _cause(~assessment.are_commits_known, "cannot verify that all commits are read"),
        _with_value(is_of_tables(assessment), _OF_TABLES, assessment.not_asked),
        # The group has committed since its coordinator was asked: the report is of the time before.
        _of_source(assessment, assessment.has_moved_on, "{}; this report is based on {}"),
        _cause(assessment.is_unstamped, unstamped),
        _cause(one_sided & (assessment.unread == 0), "records in flight to the source"),
        _cause(one_sided, "no record at the target to compare with"),
    ]


def _held_back(assessment: Assessment) -> _Cause:
    return _with_value(has_text(assessment.held_back), "{}", assessment.held_back)


def _of_source(assessment: Assessment, holds: Bools, text: str) -> _Cause:
    source = assessment.source

    def text_of(row: int) -> str:
        held, group_id = int(assessment.held_at_source[row]), assessment.keys[row].group_id
        is_gone = held == ABSENT
        what = (
            f"{source} no longer has an offset of {group_id}" if is_gone else f"{group_id} committed {held} at {source}"
        )
        return text.format(what, int(assessment.source_offset[row]))

    return _Cause(holds, text_of)


def _pending(assessment: Assessment) -> _Cause:
    return _counted(assessment.pending, "{} not mirrored yet")


def _arriving(assessment: Assessment) -> _Cause:
    return _counted(assessment.arriving, "{} already read, not mirrored yet")
