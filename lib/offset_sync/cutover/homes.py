"""Members of groups at the source, and the homes that an operator decides by moving a group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.cutover.plan import Direction
from offset_sync.model.reasons import Reason
from offset_sync.model.values import ABSENT
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.state.group_homes import UNCERTAIN_MS, Move
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Side, SyncState

COLUMNS = ("cluster", "group_id", "kind", "members", "at")
LEAVES_WITHIN_MS = 5_000
"""A closing consumer commits and then leaves; both times are of the same broker."""


def members_until(events: Iterable[pa.Table], cluster: str, groups: Collection[str]) -> dict[str, int | None]:
    """Return, per group that ever had members at *cluster*, when the last one left (ms since the epoch).

    None: there may still be members. *events* are rows of ``group_events`` in any order; groups without a row of a
    member are left out: their readers never were members.
    """
    changes = list[tuple[int, bool, str]]()
    for rows in events:
        wanted = pc.and_(pc.equal(rows["cluster"], cluster), pc.is_in(rows["group_id"], pa.array(sorted(groups))))
        for row in rows.filter(wanted).to_pylist():
            kind, at_ms = row["kind"], epoch_ms(row["at"])
            has_left = kind.endswith("_removed") or (kind == "classic" and row["members"] == 0)
            if has_left or kind.endswith("member") or (kind == "classic" and row["members"]):
                changes.append((at_ms, has_left, row["group_id"]))
    left = dict[str, int | None]()
    for at_ms, has_left, group_id in sorted(changes):
        if not has_left or group_id in left:
            left[group_id] = at_ms if has_left else None
    return left


def is_of_member(committed_at_ms: int, left_at_ms: int | None) -> bool:
    """Return whether a commit was made while the group had members, or as the last of them left.

    Both times are the coordinator's. Errs to a member: members are checked separately.
    """
    return left_at_ms is None or committed_at_ms <= left_at_ms + LEAVES_WITHIN_MS


def decide_homes(state: SyncState, direction: Direction, rows: KeyRows) -> dict[tuple[str, str], str]:
    """Make the source the home of those of *rows* that a command which moves in *direction* decides.

    A group's position at the source counts if the source is its home; if both clusters commit the group; and if an
    earlier ``apply`` has made the target the home, and the group has not committed there since: so a move can be
    repeated and verified. This is kept in the memory of this process only. Return why groups and streams committed at
    both had no home before.
    """
    source, target = direction
    contested = dict[tuple[str, str], str]()
    with state.lock:
        moved, contests, keys = rows[_is_moved(state, direction, rows)], state.contests(rows), state.offsets.keys
        for row, sides in contests.items():
            if {each.cluster for each in sides} == {source, target}:
                contested.setdefault(keys[row][:2], _reason(sides))
        decided: set[tuple[str, str]] = {*contested, *(keys[row][:2] for row in moved.tolist() if row not in contests)}
        moves = (Move(*each, source, state.now_ms(), is_decided=True) for each in sorted(decided))
        state.homes.note_moves(moves)
    return contested


def _is_moved(state: SyncState, direction: Direction, rows: KeyRows) -> NDArray[np.bool_]:
    """Return which groups are at home at the target only because of a move from the source.

    Their commits at the target are not newer than the move, and of all other clusters the source has the newest. A
    commit soon after the move may be older by a wrong clock, but not where the target's log ends with it: a move ends
    with a write of ours, or with the offset that was there. Errs to a repeated move.
    """
    source, target = map(list(state.offsets.clusters).index, direction)
    moved_ms, committed_ms = state.homes.moved_ms(rows, direction.target), state.homes.committed_ms(rows)
    others = np.delete(committed_ms, target, axis=0)
    is_moved: NDArray[np.bool_] = (state.homes_of(rows).home == target) & (moved_ms != ABSENT)
    is_moved &= committed_ms[target] <= moved_ms + UNCERTAIN_MS
    is_moved &= committed_ms[source] == others.max(axis=0, initial=ABSENT)
    streams, there = state.keys.streams_of(rows), state.offsets.clusters[direction.target].columns
    goes_on = ~there["actual_is_own"][rows] & (there["genuine_made_ms"][rows] > moved_ms)
    return is_moved & ~np.isin(streams, streams[goes_on])


def _reason(sides: Sequence[Side]) -> str:
    """Return why nothing is written for a group that commits at all *sides*."""
    offsets = [(each.cluster, "no offset" if each.offset == ABSENT else each.offset) for each in sides]
    return Reason.TWO_HOMES(" and ".join(f"{cluster} ({offset})" for cluster, offset in offsets))
