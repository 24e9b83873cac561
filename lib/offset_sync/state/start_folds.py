"""What a start needs of the history, folded to one row per key: it does not read all that ever happened.

Two files beside the checkpoints of ``sync_offsets``, see ``fold_files.py``::

    offset_commits, offset_translations    0 ... 4711 │ 4712 ... 4730      versions of the table
    folded ──────────────────────────────────────┘        └── read by the next start

The driver folds anew when there are many versions more. Keys of which nothing is left are dropped then, so the files do
not remember every group that there ever was, nor does the next start (``jobs/renewal.py``).
"""

from __future__ import annotations

import logging
import threading
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.fold_files import Fold, FoldFiles
from offset_sync.state.fold_rows import COMMITS_SCHEMA, is_over, to_rows, without
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import fill_commits, restore_commits, take_in_added
from offset_sync.state.restore_answers import ANSWERS_SCHEMA, fill_answers, fold_answers, last_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
MANY_VERSIONS = 100
"""So many more are worth a new fold: a start reads each of them, in 5 ms on a local disk and more elsewhere."""
_TOO_MANY_VERSIONS = 5_000
EVERY_S = 60.0


class _Read(NamedTuple):
    """A table's history up to *version*: what it was folded to, and the rows *added* since; no fold: all of it."""

    version: int
    fold: Fold | None
    added: pa.Table

    @property
    def is_due(self) -> bool:
        """Whether it is worth a new fold."""
        return self.version > 0 and (self.fold is None or self.version - self.fold.version >= MANY_VERSIONS)


class StartFolds:
    """The folds of *tables*; who is no *owner* uses them and writes none."""

    def __init__(self, tables: TableStore, config: Config, *, is_owner: bool) -> None:
        self._tables, self._config, self._is_owner = tables, config, is_owner
        self._files = FoldFiles(HadoopFiles(tables.spark), f"{config.tables.checkpoints}/sync_offsets/folds")
        self._folded_to = 0
        self.keys_kept = 0
        """How many keys the next start will know; more come with every commit of a new one."""

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Fold now and then until *stop*, once the job *is_ready*."""
        while not stop.wait(EVERY_S):
            try:
                if is_ready.is_set() and self._tables.version(OFFSET_COMMITS) >= self._folded_to + MANY_VERSIONS:
                    self.restore(SyncState(self._config, RecordIndex(self._tables)), CommitLogLives(self._tables))
            except Exception as problem:  # the next start reads more, which is all
                reason = next(iter(str(problem).splitlines()), type(problem).__name__)
                logger.warning("the history was not folded: %s", reason)

    def restore(self, state: SyncState, lives: CommitLogLives) -> int:
        """Fill the empty *state* with the last commits and answers; return when the newest commit was captured, in ms.

        Folds what there is, where that is ours and worth while.
        """
        commits, answers = self._read(OFFSET_COMMITS, COMMITS_SCHEMA), self._read(OFFSET_TRANSLATIONS, ANSWERS_SCHEMA)
        captured_ms = self._fill_commits(commits, state, lives)
        self.keys_kept = len(state.offsets.keys)
        rows = self._answers(answers)
        if self._is_owner and (commits.is_due or answers.is_due):
            self._save(state, Fold(rows, answers.version, {}), lives, (commits.version, captured_ms))
        self._folded_to = commits.version
        fill_answers(state, rows)
        return captured_ms

    def restore_commits(self, state: SyncState, lives: CommitLogLives) -> int:
        """Do the same with the commits alone, and fold nothing; return up to which version they are taken in."""
        read = self._read(OFFSET_COMMITS, COMMITS_SCHEMA)
        self._fill_commits(read, state, lives)
        return read.version

    def restore_answers(self, state: SyncState) -> None:
        """Do the same with the answers alone, and fold nothing; the commits are there already."""
        fill_answers(state, self._answers(self._read(OFFSET_TRANSLATIONS, ANSWERS_SCHEMA)))

    def _read(self, table: Table, schema: pa.Schema) -> _Read:
        version = self._tables.version(table)
        fold = self._files.load(self._tables.path(table), schema) if version else None
        if fold is not None and 0 <= version - fold.version <= _TOO_MANY_VERSIONS:
            try:
                return _Read(version, fold, self._tables.read_added(table, fold.version, version))
            except FileNotFoundError:
                logger.info("%s was cleaned up since it was folded: reading all of it", table.name)
        return _Read(version, None, table.arrow_schema.empty_table())

    def _fill_commits(self, read: _Read, state: SyncState, lives: CommitLogLives) -> int:
        """Return when the newest commit was captured, in milliseconds; 0 where there is none."""
        if read.fold is None or read.fold.more["lives"].keys() != state.offsets.clusters.keys():
            return restore_commits(self._tables, state, lives)
        fill_commits(state, read.fold.rows, state.offsets.clusters)
        for alias, count in read.fold.more["lives"].items():
            lives.take(alias, count)
        take_in_added(self._tables, state, read.added, lives)
        newest = pc.max(read.added.column("captured_at").cast(pa.int64())).as_py() or 0
        return max(int(read.fold.more["captured_ms"]), newest // 1000)

    def _answers(self, read: _Read) -> pa.Table:
        if read.fold is not None:
            return fold_answers(read.fold.rows, read.added)
        return last_answers(self._tables) if read.version else ANSWERS_SCHEMA.empty_table()

    def _save(self, state: SyncState, answers: Fold, lives: CommitLogLives, seen: tuple[int, int]) -> None:
        """Write the *answers*, and the commits as they were *seen*: up to which version, and the newest when."""
        version, captured_ms = seen
        over = is_over(state.offsets, captured_ms)
        self.keys_kept -= int(over.sum())
        gone = [state.offsets.keys[row] for row in np.flatnonzero(over).tolist()]
        # The answers first: of a key without commits, what was answered would be taken for what stands.
        if answers.version:
            left = answers._replace(rows=without(answers.rows, gone))
            self._files.save(self._tables.path(OFFSET_TRANSLATIONS), left)
        if version:
            more = {
                "captured_ms": captured_ms,
                "lives": {alias: lives.taken(alias) for alias in state.offsets.clusters},
            }
            self._files.save(self._tables.path(OFFSET_COMMITS), Fold(to_rows(state.offsets, ~over), version, more))
