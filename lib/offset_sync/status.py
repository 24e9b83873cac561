"""One word per partition of a group: may it be moved now, and if not, what it waits for. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from offset_sync.model import State
from offset_sync.translate.partition import IS_WITHHELD, STATES
from offset_sync.translate.runs import Int64s


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
_AT_FRONTIER = STATES.index(State.AT_FRONTIER)


@dataclass(frozen=True)
class Facts:
    """What is known of each row, arrays of shape (rows,); offsets are -1 where there is none.

    *wanted* is the translation, *standing* what the target holds, *repeats* the records between them where it stands
    below, *skipped* the unread ones where it stands above. *unread* counts the source's records from the commit on,
    *late* those of them that are not at the target; *unknown* what no index has read yet, at either side.
    *unread_commits* are offsets of ``__consumer_offsets`` that may change where the group stands; *sync_silent_ms* and
    *index_silent_ms* say for how long a job has stood still that has something to read here. *staleness_ms*: since when
    the target has not had the translation; *mirror_lag_ms*: age of the oldest late record.
    """

    state: NDArray[np.intp]
    wanted: Int64s
    standing: Int64s
    repeats: Int64s
    skipped: Int64s
    duplicates_at_most: Int64s
    unread: Int64s
    late: Int64s
    unknown: Int64s
    unread_commits: Int64s
    is_target_active: NDArray[np.bool_]
    is_source_silent: NDArray[np.bool_]
    staleness_ms: Int64s
    mirror_lag_ms: Int64s
    sync_silent_ms: Int64s
    index_silent_ms: Int64s


def decide(facts: Facts, stalled_after_ms: int) -> NDArray[np.intp]:
    """Return the code of each row's status; whoever is in sync by it may still have to be compared.

    See :func:`is_comparable`. Errs to not being in sync: what is not known to be the same is not.
    """
    is_there = _is_there(facts)
    is_late = (facts.late > 0) & (facts.mirror_lag_ms > stalled_after_ms)
    is_stalled = np.where(is_there, is_late | facts.is_source_silent, facts.staleness_ms > stalled_after_ms)
    is_stalled |= np.maximum(facts.sync_silent_ms, facts.index_silent_ms) > stalled_after_ms
    is_moving = (facts.duplicates_at_most > 0) | (facts.late > 0) | (facts.unknown + facts.unread_commits > 0)
    # Unread records on one side only: they are on their way to the other.
    is_moving |= (facts.state == _AT_FRONTIER) != (facts.unread == 0)
    choices = [
        (IS_WITHHELD[facts.state], Status.WITHHELD),
        (facts.is_target_active, Status.TARGET_ACTIVE),
        (is_stalled, Status.STALLED),
        (~is_there, Status.BEHIND),
        (is_moving, Status.MIRRORING),
    ]
    conditions, words = zip(*choices, strict=True)
    codes: NDArray[np.intp] = np.select(
        conditions, [STATUSES.index(word) for word in words], STATUSES.index(Status.IN_SYNC)
    )
    return codes


def is_comparable(facts: Facts, status: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where the next record of both sides is still to be compared before the row is called in sync."""
    compared: NDArray[np.bool_] = (status == STATUSES.index(Status.IN_SYNC)) & (facts.unread > 0)
    return compared


def reasons(facts: Facts, status: NDArray[np.intp], stalled_after_ms: int) -> list[str | None]:
    """Return why each row is not in sync, in a few words; None where it is."""
    why = [_reason(facts, row, STATUSES[code]) for row, code in enumerate(status.tolist())]
    is_stalled = status == STATUSES.index(Status.STALLED)
    for job, silent_ms in (("index_records", facts.index_silent_ms), ("sync_offsets", facts.sync_silent_ms)):
        for row in np.flatnonzero(is_stalled & (silent_ms > stalled_after_ms)).tolist():
            why[row] = f"{job} has not moved for {int(silent_ms[row]) // 1000} s"
    return why


def _is_there(facts: Facts) -> NDArray[np.bool_]:
    is_there: NDArray[np.bool_] = (facts.standing >= 0) & (facts.repeats == 0) & (facts.skipped == 0)
    return is_there


def _reason(facts: Facts, row: int, status: Status) -> str | None:
    if status is Status.IN_SYNC:
        return None
    if status is Status.WITHHELD:
        return STATES[int(facts.state[row])].value
    if status is Status.TARGET_ACTIVE:
        return "the target's group has members"
    if not _is_there(facts)[row]:
        return _why_behind(facts, row)
    if facts.is_source_silent[row]:
        return "the source does not answer"
    for count, what in (
        (facts.late, "not mirrored yet"),
        (facts.duplicates_at_most, "read already, behind unread ones"),
        (facts.unknown, "not indexed yet"),
        (facts.unread_commits, "of __consumer_offsets not read yet"),
    ):
        if count[row]:
            return f"{_records(int(count[row]))} {what}"
    return "records on their way to the source" if facts.unread[row] == 0 else "no record to compare at the target"


def _why_behind(facts: Facts, row: int) -> str:
    if facts.standing[row] < 0:
        return "nothing committed at the target"
    if facts.skipped[row]:
        return f"the target is ahead: {_records(int(facts.skipped[row]))} unread below it, written by somebody else"
    return f"the target is {_records(int(facts.repeats[row]))} behind"


def _records(count: int) -> str:
    return f"{count:,} record" if count == 1 else f"{count:,} records"
