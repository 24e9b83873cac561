"""What is about to be written without our tag, in small files, until the history tells of it.

The history is written after the commit. A driver that dies in between leaves commits on a target which carry the
source's metadata and of which no table knows: read back, they would pass for genuine ones. So such a batch costs a file
of its own first, a few milliseconds; the next driver takes what it finds there for its own::

    file ─▶ commit ─▶ offset_translations ─▶ file deleted
         ✝        ✝                                        the next driver reads the file
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import Iterable, Sequence

import numpy as np

from offset_sync.config import Config
from offset_sync.state.own_writes import Intent
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)


ANNOUNCED = "cutover-"
"""So the names of files begin that are meant for a driver at work, see :mod:`offset_sync.sync.announced_writes`."""
_Target = tuple[str, str, str, int]  # an intent without its offset


class IntentLog:
    """The files in *folder*; threads may share it."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder.rstrip("/")
        self._noted: dict[_Target, tuple[int, str]] = {}  # the offset and the file that says so
        self._targets_in: dict[str, set[_Target]] = {}
        self._inherited: set[str] = set()
        self._announced: set[str] = set()
        self._lock = threading.Lock()

    def append(self, intents: Sequence[Intent]) -> list[Intent]:
        """Write *intents* down and return those that were not; when it returns they would all survive this process."""
        with self._lock:
            fresh = [each for each in intents if self._noted.get(each[:-1], (None,))[0] != each.offset]
        if fresh:
            name = f"{uuid.uuid4().hex}.json"
            self._files.write_text(self._path(name), json.dumps(fresh))
            with self._lock:
                self._adopt(name, fresh)
        return fresh

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to forget."""
        return not self._noted

    def remove(self, intents: Iterable[Intent]) -> None:
        """Drop what is known otherwise by now; a file with nothing left is deleted.

        What a driver before this one has left is over as soon as this one knows any value to stand there.
        """
        with self._lock:
            for intent in intents:
                offset, name = self._noted.get(intent[:-1], (None, ""))
                if offset == intent.offset or name in self._inherited:
                    self._drop(intent[:-1])

    def unfinished(self, *, is_heir: bool = True) -> list[Intent]:
        """Return what drivers before this one have left, and go on keeping it until it is forgotten.

        A file that cannot be read was being written when its driver died: nothing of it had been sent. Who is no heir
        of theirs leaves the files to the driver that may be at work with them.
        """
        found: list[Intent] = []
        for name in self._files.names(self._folder):
            intents = self._read(name)
            if intents is None:
                if is_heir and not name.startswith(ANNOUNCED):
                    logger.warning("%s/%s: unfinished, dropped", self._folder, name)
                    self._files.delete(self._path(name))
                continue
            if is_heir:
                self._inherit(name, intents)
            found += intents
        return found

    def announced(self) -> list[Intent]:
        """Return what ``cutover`` has announced since the last call, and keep it until it is known otherwise."""
        names = [name for name in self._files.names(self._folder) if name.startswith(ANNOUNCED)]
        with self._lock:
            self._announced.intersection_update(names)
            fresh = [name for name in names if name not in self._announced]
        found: list[Intent] = []
        for name in fresh:
            intents = self._read(name)
            if intents is not None:  # else it is being written, and nothing of it has been sent
                self._inherit(name, intents)
                found += intents
        return found

    def _read(self, name: str) -> list[Intent] | None:
        """Return what a file says, None of one that is not whole or no longer there."""
        try:
            return [Intent(*fields) for fields in json.loads(self._files.read_text(self._path(name)))]
        except (ValueError, FileNotFoundError):
            return None

    def _inherit(self, name: str, intents: Iterable[Intent]) -> None:
        with self._lock:
            self._adopt(name, intents)
            self._inherited.add(name)
            if name.startswith(ANNOUNCED):
                self._announced.add(name)

    def _adopt(self, name: str, intents: Iterable[Intent]) -> None:
        for intent in intents:
            target = intent[:-1]
            self._drop(target)
            self._noted[target] = (intent.offset, name)
            self._targets_in.setdefault(name, set()).add(target)

    def _drop(self, target: _Target) -> None:
        if target not in self._noted:
            return
        _, name = self._noted.pop(target)
        targets = self._targets_in[name]
        targets.discard(target)
        if not targets:
            del self._targets_in[name]
            self._files.delete(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"


def restore_intents(intents: IntentLog, state: SyncState, *, is_heir: bool = True) -> None:
    """Take for our own what a driver may have written before it died, and of which the tables do not know."""
    take_for_ours(intents.unfinished(is_heir=is_heir), state)


def intents_folder(config: Config) -> str:
    """Return where ``sync_offsets`` keeps its files, and looks for those of ``cutover``."""
    return f"{config.tables.checkpoints}/sync_offsets.intents"


def take_for_ours(intents: Iterable[Intent], state: SyncState) -> None:
    """Know *intents* for our own writes when they are read back."""
    left = [intent for intent in intents if intent.target in state.offsets.clusters]
    with state.lock:
        key = state.offsets.ids([each.key for each in left])
        for target, cluster in state.offsets.clusters.items():
            mine = np.array([intent.target == target for intent in left], np.bool_)
            offset = np.array([intent.offset for intent in left], np.int64)
            cluster.own_writes.acknowledge(key[mine], offset[mine])
