"""What is about to be written without our tag, in small files, until the history tells of it.

The history is written after the commit. A driver that dies in between leaves commits on a target which carry the
source's metadata and of which no table knows: read back, they would pass for genuine ones. So such a wave costs a file
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
from typing import Any

from pyspark.sql import SparkSession

from offset_sync.translate.ledger import Intent

logger = logging.getLogger(__name__)


_Place = tuple[str, str, str, int]  # an intent without its offset


class Intents:
    """The files in *folder*, on any Hadoop file system; threads may share it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._noted: dict[_Place, tuple[int, str]] = {}  # the offset and the file that says so
        self._places_in: dict[str, set[_Place]] = {}
        self._lock = threading.Lock()

    def note(self, intents: Sequence[Intent]) -> list[Intent]:
        """Write *intents* down and return those that were not; when it returns they would all survive this process."""
        with self._lock:
            fresh = [each for each in intents if self._noted.get(each[:-1], (None,))[0] != each.offset]
        if fresh:
            name = f"{uuid.uuid4().hex}.json"
            self._write(name, json.dumps(fresh).encode())
            with self._lock:
                self._adopt(name, fresh)
        return fresh

    @property
    def is_empty(self) -> bool:
        """True where there is nothing to forget."""
        return not self._noted

    def forget(self, intents: Iterable[Intent]) -> None:
        """Drop what is known otherwise by now; a file with nothing left is deleted."""
        with self._lock:
            for intent in intents:
                if self._noted.get(intent[:-1], (None,))[0] == intent.offset:
                    self._drop(intent[:-1])

    def remaining(self) -> list[Intent]:
        """Return what drivers before this one have left, and go on keeping it until it is forgotten.

        A file that cannot be read was being written when its driver died: nothing of it had been sent.
        """
        found: list[Intent] = []
        for name in self._names():
            try:
                intents = [Intent(*fields) for fields in json.loads(self._read(name))]
            except ValueError:
                logger.warning("%s/%s: unfinished, dropped", self._folder, name)
                self._delete(name)
                continue
            with self._lock:
                self._adopt(name, intents)
            found += intents
        return found

    def _adopt(self, name: str, intents: Iterable[Intent]) -> None:
        for intent in intents:
            place = intent[:-1]
            self._drop(place)
            self._noted[place] = (intent.offset, name)
            self._places_in.setdefault(name, set()).add(place)

    def _drop(self, place: _Place) -> None:
        if place not in self._noted:
            return
        _, name = self._noted.pop(place)
        places = self._places_in[name]
        places.discard(place)
        if not places:
            del self._places_in[name]
            self._delete(name)

    def _names(self) -> list[str]:
        file_system, folder = self._file_system()
        if not file_system.exists(folder):
            return []
        return sorted(str(status.getPath().getName()) for status in file_system.listStatus(folder) if status.isFile())

    def _write(self, name: str, content: bytes) -> None:
        file_system, folder = self._file_system()
        stream = file_system.create(self._path(folder, name), True)
        try:
            stream.write(content)
        finally:
            stream.close()

    def _read(self, name: str) -> str:
        file_system, folder = self._file_system()
        stream = file_system.open(self._path(folder, name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _delete(self, name: str) -> None:
        file_system, folder = self._file_system()
        file_system.delete(self._path(folder, name), False)

    @property
    def _jvm(self) -> Any:
        return self._spark._jvm

    def _file_system(self) -> tuple[Any, Any]:
        folder = self._jvm.org.apache.hadoop.fs.Path(self._folder)
        return folder.getFileSystem(self._spark._jsc.hadoopConfiguration()), folder

    def _path(self, folder: Any, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(folder, name)
