"""Who made a group's newest commit: a member, or a reader without membership that nothing shows any more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = ("cluster", "group_id", "kind", "members", "at")
LEAVES_WITHIN_MS = 5_000
"""A consumer that is closed commits last and leaves then; both times are of the same broker."""


def members_until(events: Iterable[pa.Table], cluster: str, groups: Collection[str]) -> dict[str, int | None]:
    """Return, per group that ever had members at *cluster*, when the last one left (ms since the epoch).

    None: none is known to have left, so there may be some. *events* are rows of ``group_events`` in any order; groups
    without a row of a member are left out: they have always been read without membership.
    """
    joined, left = dict[str, int](), dict[str, int]()
    for rows in events:
        wanted = pc.and_(pc.equal(rows["cluster"], cluster), pc.is_in(rows["group_id"], pa.array(sorted(groups))))
        for row in rows.filter(wanted).select(list(COLUMNS)).to_pylist():
            at_ms = int(row["at"].timestamp() * 1000)
            group_id, is_classic = row["group_id"], row["kind"] == "classic"
            if (is_classic and (row["members"] or 0) > 0) or row["kind"].endswith("member"):
                joined[group_id] = max(joined.get(group_id, at_ms), at_ms)
            elif (is_classic and row["members"] == 0) or row["kind"].endswith("_removed"):
                left[group_id] = max(left.get(group_id, at_ms), at_ms)
    return {group_id: left[group_id] if left.get(group_id, -1) >= at_ms else None for group_id, at_ms in joined.items()}


def is_of_member(committed_at_ms: int, left_at_ms: int | None) -> bool:
    """Return whether a commit was made while the group had members, or as the last of them left.

    Both times are the coordinator's. Errs to a member: that another command asks for them.
    """
    return left_at_ms is None or committed_at_ms <= left_at_ms + LEAVES_WITHIN_MS
