"""May a partition of a group be moved, and is it well? One rule for headline, column ``move`` and plan. Pure.

Rows of sync_status in, codes out. What is decided of a group is the least verdict of its partitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum

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


class Verdict(IntEnum):
    """May it be moved to the target now; a group has the least one of its partitions."""

    BLOCKED = 0  # no: withheld, members at the target or not known, newest commits at a third cluster
    UNKNOWN = 1  # no: what it costs now is not known, or unread records would be skipped; an offset at the target helps
    AT_COST = 2  # at the cost that is shown, or that there is none is not known yet
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


def skipped(rows: pa.Table) -> Int64s:
    """Return the unread records that the target holds, below the group's offset there: lost, less what may yet come."""
    found: Int64s = np.maximum(_filled(rows, "lost") - _filled(rows, "not_mirrored"), 0)
    return found


def is_well(rows: pa.Table) -> Bools:
    """Return which rows are in sync, with nothing that is read again or lost, as far as is known."""
    cost = sum(_filled(rows, name) for name in ("lost", "duplicates", "duplicates_at_most"))
    well: Bools = (status_codes(rows) == Status.IN_SYNC) & (cost == 0)
    return well


def verdicts(rows: pa.Table) -> NDArray[np.intp]:
    """Return the :class:`Verdict` of each row of sync_status. Errs to not moving.

    A partition that two clusters commit is not blocked: moving the group is what decides where it is at home.
    """
    status = status_codes(rows)
    is_contested = _mask(pc.fill_null(pc.equal(rows["state"], State.COMMITTED_AT_BOTH.name), False))
    is_blocked = (status == Status.WITHHELD) & ~is_contested
    is_blocked |= (status == Status.TARGET_ACTIVE) | _mask(pc.is_null(rows["is_target_active"]))
    is_blocked |= _mask(pc.is_valid(rows["elsewhere"]))
    is_unknown = _mask(pc.is_null(rows["duplicates"])) | (skipped(rows) > 0) | is_contested
    codes = [Verdict.BLOCKED, Verdict.UNKNOWN, Verdict.NOW]
    found: NDArray[np.intp] = np.select([is_blocked, is_unknown, is_well(rows)], codes, Verdict.AT_COST).astype(np.intp)
    return found


def troubles(rows: pa.Table, limits: Limits = DEFAULT_LIMITS) -> NDArray[np.intp]:
    """Return the :class:`Trouble` of each row of sync_status. Errs to trouble: what is null and needed is too much."""
    status = status_codes(rows)
    holds = [
        skipped(rows) > 0,
        status == Status.WITHHELD,
        status == Status.STALLED,
        (status == Status.BEHIND) & (_filled(rows, "staleness_ms", _NEVER) > to_ms(limits.behind)),
        (_filled(rows, "not_mirrored") > 0) & (_filled(rows, "mirror_lag_ms", _NEVER) > to_ms(limits.mirror)),
    ]
    found: NDArray[np.intp] = np.select(holds, list(Trouble)[:-1], Trouble.NONE).astype(np.intp)
    return found


def status_codes(rows: pa.Table) -> NDArray[np.intp]:
    """Return the code of the status of each row, whose words are all ours."""
    codes: NDArray[np.intp] = pc.index_in(rows["status"], pa.array(STATUS_WORDS)).to_numpy().astype(np.intp)
    return codes


def _filled(rows: pa.Table, name: str, null: int = 0) -> Int64s:
    values: Int64s = pc.fill_null(rows[name], null).to_numpy().astype(np.int64)
    return values


def _mask(values: pa.ChunkedArray) -> Bools:
    found: Bools = values.to_numpy().astype(np.bool_)
    return found
