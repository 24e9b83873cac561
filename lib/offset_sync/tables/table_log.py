"""The log of one Delta table, written by delta-rs on any storage: one loop for all entries.

Each entry is put only if it is absent. The loser of a race reads the table again and decides again; delta-rs' own
retries are off, as they let two removals of the same files through. On a local disk all is synced in the order in
which it is needed: the rows' file, its folder, the entry, the log.
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
from functools import partial
from typing import Any, NamedTuple, TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, PostCommitHookProperties, RemoveAction, Transaction

from offset_sync.model.errors import TableError
from offset_sync.model.text import one_line
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.format import FORMAT, PROPERTY, check_table
from offset_sync.tables.log_repair import alone
from offset_sync.tables.native_calls import native
from offset_sync.tables.transaction_log import OURS, DataFile, Version, entry

logger = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_REMEDY = "find out what was slow; let a micro-batch have fewer records (index.max_offsets_per_trigger) if it was that"
_NEVER_MS = 253_402_300_799_999
"""``last_updated`` of a writer's version: by a clock far behind it would expire at once, and without one Spark would
omit the version from a checkpoint."""
PATIENCE_SECONDS = 300.0
"""How long lost races are retried. Few processes write one table, and an entry takes some ms, on slow storage half a
minute."""
FRESH_SECONDS = 300.0
"""The greatest age of a file when it gets its entry in the log: maintenance deletes older ones without."""
_LONGEST_PAUSE_SECONDS = 0.2
_MOST_ENTRIES = 50
_GAP = "contiguous"
"""In the error of a listing of the log during a put: it may have a later entry and not the one before."""
_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
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

    def actions(self) -> list[AddAction | RemoveAction]:
        """Return the same for delta-rs."""
        now_ms, is_change = int(time.time() * 1000), not self.moves
        found: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, {}, each.written_ms, is_change, json.dumps({"numRecords": each.rows}))
            for each in self.added
        ]
        gone = (RemoveAction(each.path, is_change, now_ms, each.size, {}) for each in self.removed)
        return [*found, *gone]


class TableLog:
    """The log of the table at *path*; threads may share it. Raises TableError where the table cannot be written."""

    def __init__(self, path: str, files: Files) -> None:
        self._path, self._files = path, files
        self._uri = files.uri(path)
        self._lock = threading.Lock()
        self._table: DeltaTable | None = None
        self._opened_at = self._stored = -1

    @native
    def is_there(self) -> bool:
        """Return whether the table exists; raises FormatError where it has another format."""
        with self._lock, self._errors():
            return self._is_there()

    def _is_there(self) -> bool:
        self._table = None  # it may have been removed
        try:
            self._refreshed()
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
            self._store(self._refreshed().version())
            for folder in (f"{self._path}/_delta_log", self._path):
                self._files.sync(folder)

    def _create(self, table: Table) -> None:
        visible = [each for each in self._files.below(self._path) if not re.search(r"(^|/)[._]", each)]
        if visible and not self._is_there():  # another process may have made and filled it meanwhile
            raise TableError(f"{self._path}: holds files and is no Delta table; give tables.root another place")
        try:
            DeltaTable.create(
                self._uri,
                table.commented_schema,
                description=table.comment,
                configuration={**_PROPERTIES, "delta.appendOnly": str(table.is_append_only).lower()},
                storage_options=self._files.storage,
                commit_properties=CommitProperties(max_commit_retries=0),
                raise_if_key_not_exists=False,
            )
        except DeltaError:
            if not self._is_there():
                raise

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set those *properties* that differ in the table."""

        def alter(table: DeltaTable) -> None:
            known = table.metadata().configuration
            changed = {name: value for name, value in properties.items() if known.get(name) != value}
            if changed:
                self._enter(table, partial(table.alter.set_table_properties, changed))

        self._again(alter)

    def newest(self) -> Version:
        """Return the table as it is now."""
        return self._again(Version)

    def commit(self, decide: Callable[[Version], Change | None]) -> int | None:
        """Enter what *decide* returns for the table as it is; return the version, None where it wants nothing.

        *decide* is called again after a lost race. No change is entered twice, even if the answer was lost: entries
        have an id. Raises TimeoutError for a file that maintenance may delete by now.
        """
        mine, begun_at, tried_from = uuid.uuid4().hex, time.monotonic(), -1

        def write(table: DeltaTable) -> int | None:
            nonlocal tried_from
            now = Version(table)
            self._store(now.number)  # the decision depends on it
            if 0 <= tried_from < now.number and self._is_entered(mine, tried_from, now.number):
                return None
            if (change := decide(now)) is None:
                return None
            if change.is_stale(time.monotonic() - begun_at):
                raise TimeoutError(f"{self._path}: no entry within {change.fresh_seconds:.0f} s of writing; {_REMEDY}")
            tried_from, actions = now.number, change.actions()
            # Another schema would remove the comments of the table's columns.
            put = partial(table.create_write_transaction, actions, "append", table.schema())
            said = {"id": mine, "actions": len(actions) + (change.writer is not None)}
            written = [Transaction(*change.writer, last_updated=_NEVER_MS)] if change.writer else None
            return self._enter(table, put, custom_metadata={OURS: said}, app_transactions=written)

        return self._again(write)

    def _is_entered(self, mine: str, after: int, until: int) -> bool:
        """Return whether an entry in ``(after, until]`` is *mine*; one that is gone counts as another writer's."""
        for version in range(after + 1, until + 1):
            with suppress(FileNotFoundError):
                if mine in self._files.read_text(entry(self._path, version)):
                    return True
        return False

    @native
    def clean_up(self) -> None:
        """Delete log entries and files that no version needs, after the times in the properties.

        The vacuum is a full one, which also deletes files that no entry names: others would never find some of them.
        """
        with self._lock, self._alone() as is_alone:
            if not is_alone:
                logger.info("%s: another process is cleaning it up", self._path)
                return
            self._table = None
            with self._errors():
                table = self._checkpoint()  # stored before the entries with the same content go
                table.cleanup_metadata()
                old = table.vacuum(full=True)  # vacuum itself would write two entries
                # While this process was suspended another may have entered what is old by now; from here on none does.
                held = {each.path for each in Version(self._open()).files()}
                for each in old:
                    if each not in held:
                        self._files.delete(f"{self._path}/{each}")

    @native
    def _again(self, act: Callable[[DeltaTable], _Found]) -> _Found:
        """Return what *act* returns for the table as it is now; a lost race is retried."""
        gives_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            before = None
            try:
                with self._lock:
                    table = self._refreshed()
                    before = table.version()
                    return act(table)
            except DeltaError as problem:
                if time.monotonic() > gives_up_at or not self._was_overtaken(before, problem):
                    raise self._error(problem) from problem
            time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))

    def _enter(self, table: DeltaTable, put: Callable[..., object], **properties: Any) -> int:
        """Have *put* put the next entry of *table*, if it is absent, and sync it; return its version."""
        version = table.version() + 1
        self._store(version - 1)
        entering = CommitProperties(max_commit_retries=0, **properties)
        put(commit_properties=entering, post_commithook_properties=_HOOKS)
        self._store(version)
        self._checkpoint_if_due(table, version)
        return version

    def _open(self) -> DeltaTable:
        table = DeltaTable(self._uri, storage_options=self._files.storage)
        check_table(self._path, table.metadata().configuration)
        return table

    def _refreshed(self) -> DeltaTable:
        """Return the table as it is now; delta-rs' memory of it grows with each entry since it was opened."""
        if self._table is not None:
            self._table.update_incremental()
            if self._table.version() - self._opened_at < _MOST_ENTRIES:
                return self._table
        self._table = self._open()
        self._opened_at = self._table.version()
        return self._table

    def _was_overtaken(self, before: int | None, problem: DeltaError) -> bool:
        """Return whether a write has failed because of another writer's entry; the next one opens the table again."""
        with self._lock:
            self._table = None
            if _GAP in str(problem):
                return True
            try:
                return before is not None and self._refreshed().version() > before
            except DeltaError:
                return False

    def _store(self, version: int) -> None:
        """Sync an entry; also one of another writer, who may not have synced it yet, before ours depends on it."""
        if version != self._stored:
            with suppress(FileNotFoundError):  # cleaned up: a stored checkpoint has the same content
                self._files.sync(entry(self._path, version))
            self._stored = version

    def _checkpoint_if_due(self, table: DeltaTable, version: int) -> None:
        """Write a checkpoint if one is due, so that readers need not read every entry before it."""
        if version % int(table.metadata().configuration.get("delta.checkpointInterval", "50")):
            return
        self._table = None
        try:
            with self._alone() as is_alone:
                if is_alone:  # else the next one due is written
                    self._checkpoint()
        except (DeltaError, OSError) as problem:  # the rows are in the table anyway
            logger.warning("%s: no checkpoint written: %s", self._path, problem)

    def _checkpoint(self) -> DeltaTable:
        """Write a checkpoint of the table as it is now, and sync it; return that table."""
        table, log = self._open(), f"{self._path}/_delta_log"
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
            raise self._error(problem) from problem

    def _error(self, problem: DeltaError) -> TableError:
        return TableError(f"{self._path}: {one_line(problem)}")
