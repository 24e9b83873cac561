"""The group partitions of one pair of clusters, a row each, from the two logs to sync_status; and their verdicts.

May a partition of a group be moved, and is it healthy? One rule for headline, column ``move`` and plan. Pure.

Rows of sync_status in, codes out. A group's verdict is the least of its partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.config.duration import to_ms
from offset_sync.config.stream_names import Names
from offset_sync.model.values import ABSENT, GroupPartition, State, Status
from offset_sync.state.key_index import KeyRows
from offset_sync.tables.catalog import SYNC_STATUS
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import IS_WITHHELD

Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]
Row = dict[str, Any]
STATUS_WORDS = tuple(status.word for status in Status)
"""The words of the column ``status``, worst first."""
WITHHELD, STALLED, BEHIND, TARGET_ACTIVE, MIRRORING, IN_SYNC = STATUS_WORDS
STATE_NAMES = np.array([state.name for state in State], np.object_)
STALLED_AFTER = timedelta(minutes=1)
"""How long a commit's translation may be missing at the target (``staleness_ms``): ``status.stalled_after``."""
MIRROR_LATE_AFTER = timedelta(minutes=5)
"""The greatest healthy age of a record that a group has not read and the target does not have yet."""
_LATER: Any = ()
"""A column that is filled in once the partitions of a pair are joined."""
_MS = pa.timestamp("ms", "UTC")


def has_text(texts: NDArray[np.object_]) -> Bools:
    """Return where *texts* is not None."""
    return np.fromiter((each is not None for each in texts), np.bool_, len(texts))


@dataclass(frozen=True)
class Assessment:
    """One row per group partition that *source* owns and *target* gets; every column has shape (rows,).

    Unknown offsets and ends are ABSENT; ``wanted_offset`` and the costs are meaningless where the row
    :attr:`is_withheld`. Times are in milliseconds, counts in records. Errs to more unread, pending and lost.
    """

    # The newest commit at the source and its translation.
    key: KeyRows
    source_offset: Int64s
    state: Codes
    wanted_offset: Int64s
    duplicates: Int64s  # read again if the group continued at `target_offset`
    duplicates_at_most: Int64s
    lost: Int64s  # unread records it would miss there: skipped, not mirrored, deleted
    # The group's position at the target.
    target_offset: Int64s
    is_outside: Bools  # that offset is outside the target's log
    repeats: Int64s  # records from there up to the translation; negative where the position is above it
    skipped: Int64s  # unread records below it
    # Records from the commit on; `arriving` and `unindexed` count those below too.
    unread: Int64s
    unread_newer: Int64s  # of these, those produced after the time of the report
    pending: Int64s  # may yet come to the target
    arriving: Int64s  # pending, read or not, of an origin that is mirrored to the target
    not_mirrored: Int64s  # the source's own, not at the target: lost if the source never comes back
    deleted: Int64s  # dropped on the way from elsewhere, or deleted: the target will not have them
    unindexed: Int64s  # not indexed yet, at either side
    is_unstamped: Bools  # the mirror stamps no headers, so it is unknown which are mirrored
    # The partition: the same for all its groups.
    source_end: Int64s
    target_end: Int64s
    mirror_lag: Int64s  # all pending records
    pending_since_ms: Int64s  # when the oldest of them was indexed
    origin_share: NDArray[np.object_]
    still_skips: NDArray[np.object_] = _LATER  # up to where consumers at the source use a read list; None: they do not
    listed: Int64s = _LATER  # on the read list of the translation; ABSENT: the group gets none
    # Filled in once the partitions of the pair are joined.
    source: str = ""
    target: str = ""
    keys: Sequence[GroupPartition] = ()
    committed_at_ms: Int64s = _LATER
    # State of clusters and jobs at the time of the report.
    is_activity_known: Bools = _LATER
    is_target_active: Bools = _LATER  # the group has members at the target
    held_at_source: Int64s = _LATER  # by its coordinator; ABSENT: none, or not known
    has_moved_on: Bools = _LATER  # the source holds another offset than source_offset
    is_uncaptured: Bools = _LATER  # and did so before the verdict: sync_offsets has not read that commit
    is_changing: Bools = _LATER  # the index has another answer by now
    not_asked: NDArray[np.object_] = _LATER  # which coordinator did not answer; None: both did
    contest: NDArray[np.object_] = _LATER  # clusters that commit it at the same time; None: it has a home
    uncommitted: NDArray[np.object_] = _LATER  # partitions of its topic that it never committed
    elsewhere: NDArray[np.object_] = _LATER  # third clusters with newest commits of the group
    unread_commits: Bools = _LATER  # a third cluster holds one that no verdict knows
    unreadable: NDArray[np.object_] = _LATER  # why a log cannot be read on; None: both can
    staleness_ms: Int64s = _LATER  # for how long the target has not had the translation
    mirror_lag_ms: Int64s = _LATER  # age of the oldest pending record
    index_silent_ms: Int64s = _LATER  # for how long index_records has not
    # The verdict.
    status: Codes = _LATER
    reason: NDArray[np.object_] = _LATER  # None where the row is in sync

    @property
    def is_withheld(self) -> Bools:
        """True where the commit is not translated."""
        withheld: Bools = IS_WITHHELD[self.state]
        return withheld

    @property
    def holds_translation(self) -> Bools:
        """True where the target holds the translation, or an offset that costs no more."""
        holds: Bools = (self.target_offset != ABSENT) & (self.repeats <= 0) & (self.skipped == 0) & ~self.is_outside
        return holds

    @property
    def is_one_sided(self) -> Bools:
        """True where one side has unread records and the other has none: they are in flight.

        The target may be waiting for newer ones, and may have some of them already.
        """
        is_at_end = self.state == State.AT_FRONTIER
        one_sided: Bools = np.where(is_at_end, self.unread > self.unread_newer, self.unread == 0)
        return one_sided

    @classmethod
    def joined(cls, parts: Sequence[Assessment]) -> Assessment:
        """Return the rows of all *parts*, at least one, in order."""
        filled = [name for name, value in vars(parts[0]).items() if isinstance(value, np.ndarray)]
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in filled}
        return replace(parts[0], **joined)


def to_rows(assessment: Assessment, reported_at_ms: int, names: Names) -> pa.Table:
    """Return rows of sync_status; unknown values are null. Keys have streams; *names* has their topics."""
    count, one = len(assessment.keys), assessment
    groups, streams, partitions = zip(*one.keys, strict=True)
    is_placed, is_source_known, is_target_known = (
        values != ABSENT for values in (one.target_offset, one.source_end, one.target_end)
    )
    # Outside the target's log, the consumer's own auto.offset.reset applies.
    # The cost of a commit that is not captured yet is unknown.
    is_known = ~one.is_withheld & is_placed & ~one.is_outside & ~one.is_uncaptured
    columns = {
        "reported_at": pa.repeat(pa.scalar(reported_at_ms, _MS), count),
        "source_cluster": [one.source] * count,
        "target_cluster": [one.target] * count,
        "group_id": groups,
        "topic": [names.outside(one.source, stream) for stream in streams],
        "partition": partitions,
        "status": [STATUS_WORDS[code] for code in one.status.tolist()],
        "state": STATE_NAMES[one.state],
        "source_committed_at": pa.array(one.committed_at_ms).cast(_MS),
        "wanted_offset": _where(~one.is_withheld, one.wanted_offset),
        "target_offset": _where(is_placed, one.target_offset),
        "source_end": _where(is_source_known, one.source_end),
        "target_end": _where(is_target_known, one.target_end),
        "source_lag": _where(is_source_known, np.maximum(one.source_end - one.source_offset, 0)),
        "target_lag": _where(is_target_known & is_placed, np.maximum(one.target_end - one.target_offset, 0)),
        "duplicates": _where(is_known, one.duplicates),
        "duplicates_at_most": _where(is_known, one.duplicates_at_most),
        "lost": _where(is_known & ~one.is_unstamped, one.lost),
        "is_target_active": _where(one.is_activity_known, one.is_target_active),
        "stream": streams,
        "target_topic": [names.topic(one.target, stream) for stream in streams],
        "listed": _where(one.listed != ABSENT, np.where(one.is_withheld, 0, one.listed)),
    }
    columns |= {name: getattr(one, name) for name in SYNC_STATUS.names if name not in columns}
    return pa.table(columns, SYNC_STATUS.arrow_schema)


def _where(is_known: Bools, values: Int64s | Bools) -> pa.Array:
    """Return *values*, null where unknown."""
    return pa.array(values, mask=~is_known)


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


def verdicts(rows: pa.Table) -> NDArray[np.intp]:
    """Return the :class:`Verdict` of each row of sync_status."""
    return np.array([verdict(row) for row in rows.to_pylist()], np.intp)


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
        return status.upper()
    is_late = row["not_mirrored"] and _is_over(row["mirror_lag_ms"], MIRROR_LATE_AFTER)
    return Trouble.MIRRORING.name if is_late else None


def _is_over(age_ms: int | None, limit: timedelta) -> bool:
    return age_ms is None or age_ms > to_ms(limit)
