"""May a partition of a group be moved, and is it well? One rule for headline, column ``move`` and plan. Pure.

Facts of rows in, codes out. What is decided of a group is the least verdict of its partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config.duration import to_ms
from offset_sync.model.values import State, Status
from offset_sync.status.assessment import Bools
from offset_sync.translate.index.runs import Int64s

STATUS_WORDS = tuple(status.word for status in Status)
"""The words of the column ``status``, worst first."""
_NEVER = 2**62
_FACTS = ("lost", "not_mirrored", "duplicates", "duplicates_at_most", "staleness_ms", "mirror_lag_ms")


class Verdict(IntEnum):
    """May it be moved to the target now; a group has the least one of its partitions."""

    BLOCKED = 0  # no: withheld, members at the target or not known, newest commits at a third cluster
    UNKNOWN = 1  # no: what it costs now is not known, or unread records would be skipped; an offset at the target helps
    AT_COST = 2  # at the cost that is shown, or nobody can tell yet that there is none
    NOW = 3  # yes: in sync, nothing repeated or lost


class Trouble(IntEnum):
    """Why a partition is not well, worst first."""

    SKIPPING = 0  # unread records that the target holds below the group's offset
    WITHHELD = 1
    STALLED = 2
    BEHIND = 3  # for too long
    WAITING = 4  # unread records have waited for the mirror for too long
    NONE = 5


@dataclass(frozen=True)
class Limits:
    """How long a delay may last before it counts as unhealthy."""

    behind: timedelta = timedelta(minutes=1)
    """How long a commit's translation may be missing at the target (``staleness_ms``)."""
    mirror: timedelta = timedelta(minutes=5)
    """How old a record may become that a group has not read and the target does not have yet."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class RowFacts:
    """Facts of partitions, columns of sync_status by name; all of shape (rows,). Numbers are masked where null."""

    status: NDArray[np.intp]
    is_contested: Bools
    is_activity_known: Bools
    is_elsewhere: Bools
    numbers: Mapping[str, np.ma.MaskedArray[Any, Any]]

    @classmethod
    def of_table(cls, rows: pa.Table) -> RowFacts:
        """Return the facts of rows of sync_status."""
        status = pc.index_in(rows["status"], pa.array(STATUS_WORDS)).to_numpy()
        return cls(
            status=status.astype(np.intp),
            is_contested=_mask(pc.fill_null(pc.equal(rows["state"], State.COMMITTED_AT_BOTH.name), False)),
            is_activity_known=_mask(pc.is_valid(rows["is_target_active"])),
            is_elsewhere=_mask(pc.is_valid(rows["elsewhere"])),
            numbers={name: _masked(rows[name]) for name in _FACTS},
        )

    @property
    def skipped(self) -> Int64s:
        """Unread records that the target holds, below the group's offset there: lost, less what may yet come."""
        found: Int64s = np.maximum(self._filled("lost") - self._filled("not_mirrored"), 0)
        return found

    @property
    def cost(self) -> Int64s:
        """Records read again or lost, as far as is known."""
        found: Int64s = self._filled("lost") + self._filled("duplicates") + self._filled("duplicates_at_most")
        return found

    @property
    def is_cost_known(self) -> Bools:
        """True where the records that are read again are counted."""
        return ~np.ma.getmaskarray(self.numbers["duplicates"])

    def _filled(self, name: str, null: int = 0) -> Int64s:
        found: Int64s = self.numbers[name].filled(null)
        return found


def verdicts(facts: RowFacts) -> NDArray[np.intp]:
    """Return the :class:`Verdict` of each row. Errs to not moving.

    A partition that two clusters commit is not blocked: moving the group is what decides where it is at home.
    """
    status, cost = facts.status, facts.cost
    is_blocked = (status == Status.WITHHELD) & ~facts.is_contested
    is_blocked |= (status == Status.TARGET_ACTIVE) | ~facts.is_activity_known | facts.is_elsewhere
    is_unknown = ~facts.is_cost_known | (facts.skipped > 0) | facts.is_contested
    is_free = (status == Status.IN_SYNC) & (cost == 0)
    codes = [Verdict.BLOCKED, Verdict.UNKNOWN, Verdict.NOW]
    found: NDArray[np.intp] = np.select([is_blocked, is_unknown, is_free], codes, Verdict.AT_COST).astype(np.intp)
    return found


def troubles(facts: RowFacts, limits: Limits = DEFAULT_LIMITS) -> NDArray[np.intp]:
    """Return the :class:`Trouble` of each row. Errs to trouble: what is null and needed counts as too much."""
    status, stale_ms = facts.status, facts._filled("staleness_ms", _NEVER)
    is_late = facts._filled("mirror_lag_ms", _NEVER) > to_ms(limits.mirror)
    holds = [
        facts.skipped > 0,
        status == Status.WITHHELD,
        status == Status.STALLED,
        (status == Status.BEHIND) & (stale_ms > to_ms(limits.behind)),
        (facts._filled("not_mirrored") > 0) & is_late,
    ]
    found: NDArray[np.intp] = np.select(holds, list(Trouble)[:-1], Trouble.NONE).astype(np.intp)
    return found


def _mask(values: pa.ChunkedArray) -> Bools:
    found: Bools = values.to_numpy().astype(np.bool_)
    return found


def _masked(values: pa.Array | pa.ChunkedArray) -> np.ma.MaskedArray[Any, Any]:
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.ma.MaskedArray(numbers, pc.is_null(values).to_numpy(zero_copy_only=False))
