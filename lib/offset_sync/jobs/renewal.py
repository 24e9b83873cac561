"""Begin anew in the same process, once most of what is remembered is of groups that are gone.

Rows of keys are never given away again while anybody may hold them. A job that begins anew holds none, and what it
reads has no key that is over (``state/last_known.py``): so memory follows the groups that there are.
"""

from __future__ import annotations

import logging
import threading

from offset_sync.state.last_known import is_over
from offset_sync.state.sync_state import SyncState

logger = logging.getLogger(__name__)
EVERY_S = 24 * 3600.0
"""So often it is looked at; a key is over a week after its group was deleted, and a renewal takes some seconds."""
WORTH_WHILE = 10_000
"""So many keys more than half of all: some megabytes."""


class Renewal:
    """Sets *over* when many of the keys that *state* knows are over."""

    def __init__(self, state: SyncState, over: threading.Event) -> None:
        self._state, self._over = state, over

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Look now and then until *stop* is set."""
        while not stop.wait(EVERY_S):
            with self._state.lock:
                known, gone = len(self._state.offsets.keys), int(is_over(self._state.offsets).sum())
            if is_ready.is_set() and gone >= WORTH_WHILE and gone > known // 2:
                logger.info("%d of %d keys are of groups that are gone: beginning anew without them", gone, known)
                self._over.set()
