"""Which moves a person decides by naming the source: there a group's position counts, as long as the command runs.

It does so anyway where the source is the home. Else where two clusters commit the group, and where an ``apply`` before
this one has made the target the home, and the group has committed nothing there since: then the move may be repeated
and verified. It is noted in the memory of this process alone.
"""

from __future__ import annotations

from offset_sync.cutover.plan import Direction
from offset_sync.state.group_homes import Move
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Side, SyncState
from offset_sync.status.contests import reason_of_both


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
            found = state.homes_of(rows)
            at_target = found.home == list(state.offsets.clusters).index(target)
            asked = rows[at_target | found.is_contested]
            is_contested = found.is_contested[at_target | found.is_contested]
            decided = set[tuple[str, str]]()
            for row, contested, sides in zip(asked.tolist(), is_contested.tolist(), state.sides(asked), strict=True):
                group_id, stream, _ = state.offsets.keys[row]
                if contested and {each.cluster for each in sides[:2]} == {source, target}:
                    self.contested.setdefault((group_id, stream), reason_of_both(sides[:2], now_ms))
                    decided.add((group_id, stream))
                elif not contested and _was_moved(sides, source):
                    decided.add((group_id, stream))
            state.homes.note_moves(Move(group_id, stream, source, now_ms) for group_id, stream in sorted(decided))

    def is_contested(self, group_id: str, stream: str) -> bool:
        """Return whether two clusters had committed it when this command began."""
        return (group_id, stream) in self.contested


def _was_moved(sides: list[Side], source: str) -> bool:
    """Return whether a group has its newest own commit at *source*, so that nothing but a move has changed its home."""
    return bool(sides) and sides[0].cluster == source
