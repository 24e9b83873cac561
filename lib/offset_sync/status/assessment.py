"""May a partition of a group be moved, and is it healthy? One rule for headline, column ``move`` and plan. Pure.

A row of sync_status in, a code out. A group's verdict is the least of its partitions.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from offset_sync.model.values import State, Status

Row = dict[str, Any]
STATUS_WORDS = tuple(status.word for status in Status)
"""The words of the column ``status``, worst first."""
WITHHELD, STALLED, BEHIND, TARGET_ACTIVE, MIRRORING, IN_SYNC = STATUS_WORDS


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


def trouble(row: Row) -> str | None:
    """Return why a row of sync_status is not healthy, a word of Reason: the first of these that it is; None: healthy.

    SKIPPING: unread records at the target below the group's offset. WITHHELD and STALLED.
    """
    if skipped(row):
        return "SKIPPING"
    return str(row["status"]).upper() if row["status"] in (WITHHELD, STALLED) else None


TROUBLES = ("SKIPPING", "WITHHELD", "STALLED")
