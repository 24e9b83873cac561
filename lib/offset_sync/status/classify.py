"""One word per partition of a group: may it be moved now, and if not, what it waits for. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import State
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD

Bools = NDArray[np.bool_]


class Status(str, Enum):
    """Column ``status`` of sync_status."""

    IN_SYNC = "InSync"  # nothing unread below, nothing read above, and the next record is the same on both sides
    MIRRORING = "Mirroring"  # the sync has done its part; records are still on their way
    BEHIND = "Behind"  # the target does not hold the translation yet
    STALLED = "Stalled"  # mirror, index or sync has not moved for too long
    WITHHELD = "Withheld"  # not translated, for the reason given
    TARGET_ACTIVE = "TargetActive"  # the target's group has members, so nothing is written there


STATUSES = tuple(Status)
"""Statuses by code."""
_AT_FRONTIER = State.AT_FRONTIER


@dataclass(frozen=True)
class Facts:
    """What is known of each row, arrays of shape (rows,); offsets are -1 where there is none.

    *standing* is what the target holds, *repeats* the records between it and the translation where it stands below
    (negative where it stands above), *skipped* the unread ones where it stands above, *is_outside* where its log does
    not reach. *unread* counts the source's records from the commit on, *fresh* those of them that came in after the
    moment that is reported on. Of the others, *late* counts those that may yet come to the target, *lost* all that the
    group would never see there, *arriving* what comes, read or not; *unknown* what no index had read by then, at either
    side. *is_untold*: without headers nobody can tell. *unread_commits* are offsets of ``__consumer_offsets`` that may
    change where the group stands, *is_commit_known* whether all clusters that matter could be asked. *sync_silent_ms*
    and *index_silent_ms* say for how long a job has stood still that has something to read here. *staleness_ms*: since
    when the target has not had the translation; *mirror_lag_ms*: age of the oldest late record.
    """

    state: NDArray[np.intp]
    standing: Int64s
    repeats: Int64s
    skipped: Int64s
    is_outside: Bools
    duplicates_at_most: Int64s
    lost: Int64s
    unread: Int64s
    fresh: Int64s
    late: Int64s
    arriving: Int64s
    unknown: Int64s
    is_untold: Bools
    unread_commits: Int64s
    is_commit_known: Bools
    is_target_active: Bools
    is_source_silent: Bools
    staleness_ms: Int64s
    mirror_lag_ms: Int64s
    sync_silent_ms: Int64s
    index_silent_ms: Int64s

    @property
    def is_there(self) -> Bools:
        """True where the target holds the translation, or an offset that means the same."""
        return is_there(self.standing, self.repeats, self.skipped, self.is_outside)

    @property
    def is_one_sided(self) -> Bools:
        """True where one side has unread records and the other has none: they are on their way.

        The target may be waiting for fresh ones, and may have some of them already.
        """
        one_sided: Bools = np.where(self.state == _AT_FRONTIER, self.unread > self.fresh, self.unread == 0)
        return one_sided


def is_there(standing: Int64s, repeats: Int64s, skipped: Int64s, is_outside: Bools) -> Bools:
    """Return where what stands at the target costs no more than the translation would."""
    there: Bools = (standing >= 0) & (repeats <= 0) & (skipped == 0) & ~is_outside
    return there


def decide(facts: Facts, stalled_after_ms: int) -> NDArray[np.intp]:
    """Return the code of each row's status; whoever is in sync by it may still have to be compared.

    See :func:`is_comparable`. Errs to not being in sync: what is not known to be the same is not.
    """
    choices = [
        (IS_WITHHELD[facts.state], Status.WITHHELD),
        (facts.is_target_active, Status.TARGET_ACTIVE),
        (_is_any(_stalled(facts, stalled_after_ms)), Status.STALLED),
        (~facts.is_there, Status.BEHIND),
        (_is_any(_moving(facts)), Status.MIRRORING),
    ]
    conditions, words = zip(*choices, strict=True)
    codes: NDArray[np.intp] = np.select(conditions, list(words), Status.IN_SYNC)
    return codes


def is_comparable(facts: Facts, status: NDArray[np.intp]) -> Bools:
    """Return where the next record of both sides is still to be compared before the row is called in sync."""
    compared: Bools = (status == Status.IN_SYNC) & (facts.state != _AT_FRONTIER)
    return compared


def reasons(facts: Facts, status: NDArray[np.intp], stalled_after_ms: int) -> list[str | None]:
    """Return why each row is not in sync, in a few words; None where it is."""
    why: list[str | None] = [None] * len(status)
    for word, causes in (
        (Status.WITHHELD, [(IS_WITHHELD[facts.state], lambda row: State(int(facts.state[row])).name)]),
        (Status.TARGET_ACTIVE, [(facts.is_target_active, _always("the target's group has members"))]),
        (Status.STALLED, _stalled(facts, stalled_after_ms)),
        (Status.BEHIND, _behind(facts)),
        (Status.MIRRORING, _moving(facts)),
    ):
        left = status == word
        for is_so, text in causes:
            for row in np.flatnonzero(left & is_so).tolist():
                why[row] = text(row)
            left &= ~is_so
    return why


Text = Callable[[int], str]
Causes = list[tuple[Bools, Text]]
"""Conditions in order of weight, with what is said of a row where it is the first one that holds."""


def _is_any(causes: Causes) -> Bools:
    found: Bools = np.logical_or.reduce([is_so for is_so, _ in causes])
    return found


def _stalled(facts: Facts, after_ms: int) -> Causes:
    sync, index, is_there = facts.sync_silent_ms, facts.index_silent_ms, facts.is_there
    is_stale = ~is_there & (facts.staleness_ms > after_ms)
    is_late = is_there & (facts.mirror_lag_ms > after_ms)
    return [
        (sync > after_ms, lambda row: f"sync_offsets has not moved for {sync[row] // 1000} s"),
        (index > after_ms, lambda row: f"index_records has not moved for {index[row] // 1000} s"),
        *((is_stale & is_so, text) for is_so, text in _behind(facts)),
        (is_there & facts.is_source_silent, _always("the source does not answer")),
        (is_late & (facts.late > 0), _counted(facts.late, "not mirrored yet")),
        (is_late & (facts.arriving > 0), _counted(facts.arriving, "read already, not mirrored yet")),
    ]


def _behind(facts: Facts) -> Causes:
    by = "written by somebody else"
    return [
        (facts.standing < 0, _always("nothing committed at the target")),
        (facts.skipped > 0, _counted(facts.skipped, f"unread below it, {by}", "the target is ahead: ")),
        (facts.is_outside, _always(f"the target's log does not reach offset {{}}, {by} or expired", facts.standing)),
        (facts.repeats > 0, _counted(facts.repeats, "behind", "the target is ")),
    ]


def _moving(facts: Facts) -> Causes:
    return [
        (facts.late > 0, _counted(facts.late, "not mirrored yet")),
        (facts.lost > 0, _counted(facts.lost, "unread and not at the target for good: dropped or deleted")),
        (facts.arriving > 0, _counted(facts.arriving, "read already, not mirrored yet")),
        (facts.duplicates_at_most > 0, _counted(facts.duplicates_at_most, "read already, behind unread ones")),
        (facts.unknown > 0, _counted(facts.unknown, "not indexed yet")),
        (facts.unread_commits > 0, _counted(facts.unread_commits, "of __consumer_offsets not read yet")),
        (~facts.is_commit_known, _always("whether all commits are read cannot be told")),
        (facts.is_untold, _always("the mirror stamps no headers: which records are mirrored cannot be told")),
        (facts.is_one_sided & (facts.unread == 0), _always("records on their way to the source")),
        (facts.is_one_sided, _always("no record to compare at the target")),
    ]


def _always(text: str, offset: Int64s | None = None) -> Text:
    return lambda row: text.format(offset[row]) if offset is not None else text


def _counted(count: Int64s, what: str, before: str = "") -> Text:
    return lambda row: f"{before}{count[row]:,} record{'' if count[row] == 1 else 's'} {what}"
