"""What decides where groups are at home beside their commits: moves by ``cutover``, and members."""

from __future__ import annotations

import threading
from collections.abc import Callable

from offset_sync.jobs.repeated_looks import look_until
from offset_sync.state.members import Members
from offset_sync.state.moves import Moves
from offset_sync.state.sync_state import SyncState

_MOVES_S, _MEMBERS_S = 1.0, 10.0


class HomeWatch:
    """Keeps *state* up to date; *on_change* is called where groups were moved."""

    def __init__(self, state: SyncState, members: Members, moves: Moves, on_change: Callable[[], None]) -> None:
        self._state, self._members, self._moves, self._on_change = state, members, moves, on_change

    def run(self, stop: threading.Event, _is_ready: threading.Event) -> None:
        """Follow moves until *stop* is set: nothing that a silent cluster holds up."""
        look_until(stop, _MOVES_S, self.follow_moves)

    def run_asking(self, stop: threading.Event, _is_ready: threading.Event) -> None:
        """Ask the clusters for members until *stop* is set."""
        look_until(stop, _MEMBERS_S, self.ask_members)

    def follow_moves(self) -> None:
        """Take in what ``cutover`` has moved."""
        if self._moves.follow(self._state):
            self._on_change()

    def ask_members(self) -> None:
        """Ask the clusters which groups have members; of one that does not answer none is seen to have any."""
        if not self._state.homes.silence_ms:
            return
        self._members.refresh()
        for alias in self._state.offsets.clusters:
            with self._state.lock:
                self._state.homes.note_members(alias, self._members.of(alias) or frozenset(), self._state.now_ms())
