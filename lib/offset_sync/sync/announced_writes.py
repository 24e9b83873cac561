"""How ``cutover`` tells a ``sync_offsets`` at work what it is about to write without our tag.

Read back by the other process such a write would pass for a genuine commit, and its cluster for the owner. So it is in
a file first, beside those of :mod:`offset_sync.sync.intent_log`; the driver looks there whenever it has read commits,
and before it judges them. A file that was there before a commit is there when the commit is read.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence

from offset_sync.state.own_writes import Intent
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.intent_log import ANNOUNCED, IntentLog, take_for_ours
from offset_sync.tables.files import Files


class Announcements:
    """The files of one ``cutover`` in *folder*, by ascending time; the driver that reads them deletes them."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files, self._folder = files, folder
        self._said: list[tuple[str, set[Intent]]] = []

    def append(self, intents: Sequence[Intent]) -> list[Intent]:
        """Announce *intents*, and return them; what was written before stays announced until it has been read back."""
        if intents:
            path = f"{self._folder}/{ANNOUNCED}{time.time_ns():020d}-{uuid.uuid4().hex}.json"
            self._files.write_text(path, json.dumps(intents))
            self._said.append((path, set(intents)))
        return list(intents)

    def remove(self, intents: Iterable[Intent]) -> None:
        """Take back what was announced last and came to nothing; errs to leaving it, where others of it were written.

        What is left there is taken for ours if somebody commits the very same value.
        """
        if self._said:
            path, left = self._said[-1]
            left -= set(intents)
            if not left:
                self._said.pop()
                self._files.delete(path)


def take_announced(intents: IntentLog, state: SyncState) -> None:
    """Take for our own what ``cutover`` has announced since the last call."""
    take_for_ours(intents.announced(), state)
