"""Which moves a person decides by naming the source: there a group's position counts, as long as the command runs.

It does so anyway where the source is the home. Else where two clusters commit the group, and where an ``apply`` before
this one has made the target the home, and the group has committed nothing there since: then the move may be repeated
and verified. It is noted in the memory of this process alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.cutover.plan import Direction
from offset_sync.model.values import ABSENT
from offset_sync.state.group_homes import Move
from offset_sync.state.home import UNCERTAIN_MS
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.status.group_homes import reason_of_both


class DecidedHomes:
    """Homes of groups in *state* for a command that moves them in *direction*."""

    def __init__(self, state: SyncState, direction: Direction) -> None:
        self._state, self._direction = state, direction
        self.contested: dict[tuple[str, str], str] = {}
        """Why a group and stream were at home at neither cluster, of those that this command decides."""

    def decide(self, rows: KeyRows) -> None:
        """Let the source be the home of those of *rows* of which this command decides."""
        source, target = self._direction
        state, now_ms = self._state, self._state.now_ms()
        with state.lock:
            moved = rows[self._is_moved(rows)]
            contests = state.contests(rows)
            decided = set[tuple[str, str]]()
            for row, sides in contests.items():
                if {each.cluster for each in sides} == {source, target}:
                    group_id, stream, _ = state.offsets.keys[row]
                    self.contested.setdefault((group_id, stream), reason_of_both(sides, now_ms))
                    decided.add((group_id, stream))
            decided |= {state.offsets.keys[row][:2] for row in moved.tolist() if row not in contests}
            state.homes.note_moves(Move(group_id, stream, source, now_ms) for group_id, stream in sorted(decided))

    def _is_moved(self, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which groups are at home at the target by a move from the source alone.

        What is committed at the target is not newer than the move, and of all others the source was committed last.
        """
        state, (source, target) = self._state, map(list(self._state.offsets.clusters).index, self._direction)
        moved_ms, committed_ms = state.homes.moved_ms(rows, self._direction.target), state.homes.committed_ms(rows)
        others = np.delete(committed_ms, target, axis=0)
        is_moved: NDArray[np.bool_] = (state.homes_of(rows).home == target) & (moved_ms != ABSENT)
        is_moved &= committed_ms[target] <= moved_ms + UNCERTAIN_MS
        is_moved &= committed_ms[source] == others.max(axis=0, initial=ABSENT)
        return is_moved
