"""May a partition of a group be moved, and is it healthy? One rule for headline, column ``move`` and plan. Pure.

A row of sync_status in, a code out. A group's verdict is the least of its partitions.
"""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum
from typing import Any

from offset_sync.config.duration import to_ms
from offset_sync.model.values import State, Status

Row = dict[str, Any]
STATUS_WORDS = tuple(status.word for status in Status)
"""The words of the column ``status``, worst first."""
WITHHELD, STALLED, BEHIND, TARGET_ACTIVE, MIRRORING, IN_SYNC = STATUS_WORDS
STALLED_AFTER = timedelta(minutes=1)
"""How long a commit's translation may be missing at the target (``staleness_ms``): ``status.stalled_after``."""
MIRROR_LATE_AFTER = timedelta(minutes=5)
"""The greatest healthy age of a record that a group has not read and the target does not have yet."""


class Verdict(IntEnum):
    """May it be moved to the target now? A group has the least verdict of its partitions."""

    BLOCKED = 0  # no: withheld, members at the target or not known, newest commits at a third cluster
    UNKNOWN = 1  # no: unknown cost, or unread records would be skipped; until an offset is written at the target
    AT_COST = 2  # at the cost shown, or it is not known yet that there is none
    NOW = 3  # yes: in sync, nothing repeated or lost


MOVES = ("no", "no", "at_cost", "now")
"""The word of each verdict: ``move`` of a report."""


def skipped(row: Row) -> int:
    """Return the unread records at the target below the group's offset there: lost, less what may yet come."""
    return max((row["lost"] or 0) - (row["not_mirrored"] or 0), 0)


def verdict(row: Row) -> Verdict:
    """Return the :class:`Verdict` of a row of sync_status. Errs to not moving.

    A partition that two clusters commit is not blocked: moving the group decides its home.
    """
    status, is_contested = row["status"], row["state"] == State.COMMITTED_AT_BOTH.name
    is_blocked = status == TARGET_ACTIVE or (status == WITHHELD and not is_contested)
    if is_blocked or row["is_target_active"] is None or row["elsewhere"]:
        return Verdict.BLOCKED
    if row["duplicates"] is None or skipped(row) or is_contested:
        return Verdict.UNKNOWN
    costs = row["lost"] or row["duplicates"] or row["duplicates_at_most"]
    return Verdict.NOW if status == IN_SYNC and not costs else Verdict.AT_COST


class Trouble(IntEnum):
    """Why a partition is not healthy, worst first."""

    SKIPPING = 0  # unread records that the target holds below the group's offset
    WITHHELD = 1
    STALLED = 2
    BEHIND = 3  # for too long
    MIRRORING = 4  # unread records have waited for the mirror for too long


def trouble(row: Row, stalled_after: timedelta) -> str | None:
    """Return the name of the worst :class:`Trouble` of a row of sync_status, None for none.

    Errs to trouble: a required null counts as too much.
    """
    status = row["status"]
    if skipped(row):
        return Trouble.SKIPPING.name
    if status in (WITHHELD, STALLED) or (status == BEHIND and _is_over(row["staleness_ms"], stalled_after)):
        return str(status).upper()
    is_late = row["not_mirrored"] and _is_over(row["mirror_lag_ms"], MIRROR_LATE_AFTER)
    return Trouble.MIRRORING.name if is_late else None


def _is_over(age_ms: int | None, limit: timedelta) -> bool:
    return age_ms is None or age_ms > to_ms(limit)
