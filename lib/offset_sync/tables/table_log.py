"""The log of one Delta table, on any storage: one loop for all entries.

A writer knows the newest version, and puts the next entry only if it is absent: one request. Who loses a race, or the
answer, reads the entries that are there by then, and decides again. A follower asks for the next entry. An entry is
kept for ten minutes at least, and a version is known for five: so where there is no next entry, there was none.
delta-rs opens tables, writes checkpoints and cleans up.

On a local disk all is synced in the order in which it is needed: the rows' file, its folder, the entry, the log.
"""

from __future__ import annotations

import json
import logging
import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.exceptions import DeltaError, TableNotFoundError

from offset_sync.model.errors import TableError
from offset_sync.model.text import one_line
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.format import FORMAT, PROPERTY, check_table
from offset_sync.tables.log_repair import alone
from offset_sync.tables.native_calls import native
from offset_sync.tables.transaction_log import DataFile, Entry, Version, entry, to_content

logger = logging.getLogger(__name__)
_REMEDY = "find out what was slow; let a micro-batch have fewer records (index.max_offsets_per_trigger) if it was that"
_NEVER_MS = 253_402_300_799_999
"""``last_updated`` of a writer's version: by a clock far behind it would expire at once, and without one Spark would
omit the version from a checkpoint."""
PATIENCE_SECONDS = 300.0
"""How long lost races are retried. Few processes write one table, and an entry takes some ms, on slow storage half a
minute."""
FRESH_SECONDS = 300.0
"""The greatest age of a file when it gets its entry in the log: maintenance deletes older ones without."""
KNOWN_SECONDS = 300.0
"""A version that nothing has confirmed for so long is not built on: the table is opened again. An entry is kept twice
as long at least (``maintenance.keep_versions``)."""
_SURE_SECONDS = 30.0
"""Where a version was known for longer, its entry is looked for after the next one is put. Clean-ups go by the dates of
files, and a clean-up that has removed it stands on later ones."""
_LONGEST_PAUSE_SECONDS = 0.2
_MOST_LATER = 500
"""After so many entries a table is opened again: all of them are in memory."""
_FEW = 16
"""So many entries are read one after the other; where there are more, opening the table is quicker."""
_GAP, _GAP_SECONDS = re.compile("contiguous|Gap between|_last_checkpoint hint"), 5.0
"""Errors of a list of the log with a later entry and not the one before; they last longer where one is gone."""
_PROPERTIES = {
    # Plain protocol: delta-rs and DuckDB read the tables as they are.
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": "50",
    # A writer that was away longer than this would repeat its last batch.
    "delta.setTransactionRetentionDuration": "interval 90 days",
    PROPERTY: str(FORMAT),
}


class Change(NamedTuple):
    """The content of an entry: files that are *added* and *removed*, and its *writer* (application id, version).

    Followers ignore rows that it only *moves* into other files. Files are entered *fresh_seconds* at most after the
    first was begun, at *began_ms*; None: when the oldest was written.
    """

    added: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    writer: tuple[str, int] | None = None
    moves: bool = False
    began_ms: int | None = None
    fresh_seconds: float = FRESH_SECONDS

    def is_stale(self, seconds: float) -> bool:
        """Return whether the first file is too old *seconds* after all were written, even if a clock was set."""
        begun_ms = [each.written_ms for each in self.added] if self.began_ms is None else [self.began_ms]
        return max([seconds, *(time.time() - each / 1000 for each in begun_ms)]) > self.fresh_seconds

    def to_content(self, mine: str) -> bytes:
        """Return the entry with the id *mine*."""
        at_ms, is_change = int(time.time() * 1000), not self.moves
        actions: list[dict[str, Any]] = []
        if self.writer:
            actions.append({"txn": {"appId": self.writer[0], "version": self.writer[1], "lastUpdated": _NEVER_MS}})
        same = {"partitionValues": {}, "dataChange": is_change}
        for path, size, written_ms, rows in self.added:
            said = {"path": path, "size": size, "modificationTime": written_ms, **same}
            actions.append({"add": said | {"stats": json.dumps({"numRecords": rows})}})
        for path, size, *_ in self.removed:
            said = {"path": path, "size": size, "deletionTimestamp": at_ms, "extendedFileMetadata": True, **same}
            actions.append({"remove": said})
        return to_content(mine, actions)


class TableLog:
    """The log of the table at *path*; threads may share it. Raises TableError where the table cannot be written."""

    def __init__(self, path: str, files: Files) -> None:
        self._path, self._files = path, files
        self._uri = files.uri(path)
        self._lock = threading.Lock()
        self._now: Version | None = None
        self._known_at = _clocks()
        self._stored = -1

    @native
    def is_there(self) -> bool:
        """Return whether the table exists; raises FormatError where it has another format."""
        with self._lock, self._errors():
            return self._is_there()

    def _is_there(self) -> bool:
        try:
            self._known()
        except TableNotFoundError:
            return False
        return True

    @native
    def make(self, table: Table) -> None:
        """Create *table* unless it exists, also while other processes do so.

        Leftovers of a killed process do not matter. Raises TableError where other files are.
        """
        with self._lock, self._errors():
            if not self._is_there():
                self._create(table)
            # The process that made the table may have died before it synced it.
            self._store(self._known().number)
            for folder in (f"{self._path}/_delta_log", self._path):
                self._files.sync(folder)

    def _create(self, table: Table) -> None:
        visible = [each for each in self._files.below(self._path) if not re.search(r"(^|/)[._]", each)]
        if visible and not self._is_there():  # another process may have made and filled it meanwhile
            raise TableError(f"{self._path}: holds files and is no Delta table; give tables.root another place")
        metadata = {
            "id": str(uuid.uuid4()),
            "description": table.comment,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": DeltaSchema.from_arrow(table.commented_schema).to_json(),
            "partitionColumns": [],
            "configuration": {**_PROPERTIES, "delta.appendOnly": str(table.is_append_only).lower()},
            "createdTime": int(time.time() * 1000),
        }
        protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
        content = to_content("", [{"protocol": protocol}, {"metaData": metadata}])
        self._files.put_new(entry(self._path, 0), content)  # or another process does

    @native
    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set those *properties* that differ in the table."""
        with self._lock, self._errors():
            table = self._opened()
            if changed := dict(properties.items() - table.metadata().configuration.items()):
                table.alter.set_table_properties(changed)
                self._store(self._open().number)

    @native
    def newest(self) -> Version:
        """Return the table as it is now."""
        with self._lock, self._errors():
            return self._look()

    @native
    def entries(self, after: int, until: int) -> list[Entry]:
        """Return the entries of versions in ``(after, until]``; raises FileNotFoundError where one is gone."""
        with self._lock, self._errors():
            now = self._known()
        known = {each: said for each in range(after + 1, until + 1) if (said := now.entry(each))}
        missing = [each for each in range(after + 1, until + 1) if each not in known]
        opened = self._files.opened([(entry(self._path, each), 0) for each in missing])
        known |= {each: self._said(each, file.read()) for each, file in zip(missing, opened, strict=True)}
        return list(known.values())

    @native
    def commit(self, decide: Callable[[Version], Change | None]) -> int | None:
        """Enter what *decide* returns for the table as it is; return the version, None where it wants nothing.

        *decide* is called again after a lost race. No change is entered twice, even if the answer was lost: entries
        have an id. Raises TimeoutError for a file that maintenance may delete by now.
        """
        mine, begun_at = uuid.uuid4().hex, time.monotonic()
        while True:
            with self._lock, self._errors():
                now = self._known()
                self._store(now.number)  # the decision depends on it
                try:
                    change = decide(now)
                except DeltaError:  # a clean-up has removed what this version stands on
                    change = decide(now := self._open())
                if change is None:
                    return None
                if change.is_stale(time.monotonic() - begun_at):
                    late = f"no entry within {change.fresh_seconds:.0f} s of writing"
                    raise TimeoutError(f"{self._path}: {late}; {_REMEDY}")
                if self._put(now, change, mine):
                    return now.number + 1
                self._look()
            if time.monotonic() - begun_at > PATIENCE_SECONDS:
                raise TableError(f"{self._path}: others have entered theirs first for {PATIENCE_SECONDS:.0f} s")
            time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))

    def _put(self, now: Version, change: Change, mine: str) -> bool:
        """Put *change* as the entry after *now*, and sync it; return False where another one is there."""
        if unknown := now.asks_of_writers:
            raise TableError(
                f"{self._path}: another tool has enabled {', '.join(sorted(unknown))}; give tables.root another place"
            )
        version, content, at = now.number + 1, change.to_content(mine), _clocks()
        if not self._is_entered(version, content, mine):
            return False
        if self._age_seconds() > _SURE_SECONDS and self._read(now.number) is None:
            raise TimeoutError(f"{self._path}: entry {version} may be below later ones, it took too long; {_REMEDY}")
        self._store(version)
        said = self._said(version, content)
        self._now, self._known_at = now.followed_by(said), at
        self._checkpoint_if_due(version)
        return True

    def _is_entered(self, version: int, content: bytes, mine: str) -> bool:
        """Put an entry if there is none; return whether it is there, also where the answer was lost."""
        try:
            if self._files.put_new(entry(self._path, version), content):
                return True
        except OSError as problem:
            if self._read(version) is None:
                raise TableError(f"{self._path}: {one_line(problem)}") from problem
        said = self._read(version)
        return said is not None and said.id == mine

    @native
    def clean_up(self) -> None:
        """Delete log entries and files that no version needs, after the times in the properties.

        The vacuum is a full one, which also deletes files that no entry names: others would never find some of them.
        """
        with self._lock, self._alone() as is_alone, self._errors():
            if is_alone:  # else another process is cleaning it up
                table = self._checkpoint()  # stored before the entries with the same content go
                table.cleanup_metadata()
                old = table.vacuum(full=True)  # vacuum itself would write two entries
                # While this process was suspended another may have entered what is old by now; from here on none does.
                held = {each.path for each in self._open().files()}
                for each in {*old} - held:
                    self._files.delete(f"{self._path}/{each}")

    def _open(self) -> Version:
        """Return the table as it is now, and keep it as the one that is known."""
        self._now, self._known_at = None, _clocks()
        self._now = Version(self._opened())
        return self._now

    def _opened(self) -> DeltaTable:
        """Open the table as it is now, again where a list of the log was made during puts and has a gap."""
        gives_up_at = time.monotonic() + _GAP_SECONDS
        while True:
            try:
                table = DeltaTable(self._uri, storage_options=self._files.storage)
                break
            except DeltaError as problem:
                if not _GAP.search(str(problem)) or time.monotonic() > gives_up_at:
                    raise
            time.sleep(_LONGEST_PAUSE_SECONDS)
        check_table(self._path, table.metadata().configuration)
        return table

    def _age_seconds(self) -> float:
        """Return for how long the version is known, also if a clock was set or this process was suspended."""
        return max(now - at for now, at in zip(_clocks(), self._known_at, strict=True))

    def _known(self) -> Version:
        """Return the table as it is known: others may have written to it."""
        now = self._now
        if now is None or now.number - now.table.version() > _MOST_LATER or self._age_seconds() > KNOWN_SECONDS:
            return self._open()
        own = self._files.local(entry(self._path, now.number))
        return now if own is None or own.exists() else self._open()  # else the table was removed, or set back

    def _look(self) -> Version:
        """Return the table as it is now, by the entries after the one that is known, where these are plain and few."""
        now = self._known()
        for _ in range(_FEW):
            at = _clocks()
            if (said := self._read(now.number + 1)) is None:
                self._now, self._known_at = now, at
                return now
            if not said.is_plain:
                break
            now = now.followed_by(said)
        return self._open()

    def _read(self, version: int) -> Entry | None:
        """Return an entry, None where it is not there."""
        try:
            return self._said(version, self._files.read(entry(self._path, version)))
        except FileNotFoundError:
            return None

    def _said(self, version: int, content: bytes) -> Entry:
        try:
            return Entry.of(version, content)
        except ValueError as problem:
            torn = "if another tool has left half of it, delete it"
            raise TableError(f"{entry(self._path, version)}: {one_line(problem)}; {torn}") from problem

    def _store(self, version: int) -> None:
        """Sync an entry; also one of another writer, who may not have synced it yet, before ours depends on it."""
        if version != self._stored:
            with suppress(FileNotFoundError):  # cleaned up: a stored checkpoint has the same content
                self._files.sync(entry(self._path, version))
            self._stored = version

    def _checkpoint_if_due(self, version: int) -> None:
        """Write a checkpoint if one is due, so that readers need not read every entry before it.

        Elsewhere than on this disk it takes some 200 requests, for which no append waits.
        """
        if version % int(self._known().properties.get("delta.checkpointInterval", "50")):
            return
        if self._files.local(self._path) is None:
            threading.Thread(target=self._try_checkpoint, name="checkpoint", daemon=True).start()
        else:
            self._try_checkpoint()

    @native
    def _try_checkpoint(self) -> None:
        try:
            with self._alone() as is_alone:
                if is_alone:  # else the next one due is written
                    self._checkpoint()
        except (DeltaError, OSError) as problem:  # the rows are in the table anyway
            logger.warning("%s: no checkpoint written: %s", self._path, problem)

    def _checkpoint(self) -> DeltaTable:
        """Write a checkpoint of the table as it is now, and sync it; return that table."""
        table, log = self._opened(), f"{self._path}/_delta_log"
        self._store(table.version())
        table.create_checkpoint()
        for name in self._files.names(log):
            if name.startswith(f"{table.version():020d}.checkpoint") or name == "_last_checkpoint":
                self._files.sync(f"{log}/{name}")
        return table

    def _alone(self) -> AbstractContextManager[bool]:
        """Lock out checkpoints and clean-ups of other processes: on a local disk one would replace what is stored.

        It does not wait for another holder, which may be suspended.
        """
        own = self._files.local(self._path)
        return nullcontext(True) if own is None else alone(own)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DeltaError as problem:
            raise TableError(f"{self._path}: {one_line(problem)}") from problem


def _clocks() -> tuple[float, float]:
    return time.monotonic(), time.time()
