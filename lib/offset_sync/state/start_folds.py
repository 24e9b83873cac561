"""What a start needs of the history, folded to one row per key: it does not read all that ever happened.

Two files beside the checkpoints of ``sync_offsets``, see ``fold_files.py``::

    offset_commits, offset_translations    0 ... 4711 │ 4712 ... 4730      versions of the table
    folded ──────────────────────────────────────┘        └── read by the next start

The driver folds anew when there are many versions more. Keys of which nothing is left are dropped then, so the files do
not remember every group that there ever was, nor does the next start (``jobs/renewal.py``). Both files are believed or
none: what is dropped from one is from the other.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config import Config
from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import Outcome
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.fold_files import Fold, FoldFiles
from offset_sync.state.fold_names import are_names_of_now, told_names
from offset_sync.state.fold_rows import COMMITS_SCHEMA, heard_of_dropped_until_ms, is_over, to_rows, without
from offset_sync.state.last_commits import KEY
from offset_sync.state.lease import Lease
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.restore import fill_commits, restore_commits, take_in_added
from offset_sync.state.restore_answers import (
    ANSWERS_SCHEMA,
    KEY_OF_PAIR,
    fill_answers,
    fold_answers,
    last_answers,
    recent_writes,
)
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
MANY_VERSIONS = 100
"""So many more are worth a new fold: a start reads each of them, in 5 ms on a local disk and more elsewhere."""
TOO_MANY_VERSIONS = 5_000
EVERY_S = 60.0
_FOLDED = {OFFSET_COMMITS: COMMITS_SCHEMA, OFFSET_TRANSLATIONS: ANSWERS_SCHEMA}


class _History(NamedTuple):
    """Both tables up to their *versions*: *folds*, and the rows *added* since; without folds all of it is read."""

    versions: tuple[int, ...]
    folds: tuple[Fold, ...] | None = None
    added: tuple[pa.Table, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether it is worth new folds."""
        if self.folds is None:
            return self.versions[0] > 0
        folded = (fold.version for fold in self.folds)
        return any(version - before >= MANY_VERSIONS for version, before in zip(self.versions, folded, strict=True))


class StartFolds:
    """The folds of *tables*; they are written by who holds the *lease* of ``sync_offsets``, others only use them."""

    def __init__(self, tables: TableStore, config: Config, lease: Lease | None = None) -> None:
        self._tables, self._config, self._lease = tables, config, lease
        self._files = FoldFiles(tables.files, f"{config.tables.checkpoints}/sync_offsets/folds")
        self._last = _History((0, 0))

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Fold now and then until *stop*, once the job *is_ready*."""
        while not stop.wait(EVERY_S):
            try:
                grown = (self._tables.version(table) for table in _FOLDED)
                is_due = any(
                    now - before >= MANY_VERSIONS for now, before in zip(grown, self._last.versions, strict=True)
                )
                if is_ready.is_set() and is_due:
                    self.restore(SyncState(self._config, RecordIndex(self._tables)), CommitLogLives(self._tables))
            except TakenOverError:
                return  # the job is stopping, and says why
            except Exception as problem:  # the next start reads more, which is all
                _warn(problem)

    def restore(self, state: SyncState, lives: CommitLogLives) -> int:
        """Fill the empty *state* with the last commits and answers; return when the newest commit was captured, in ms.

        Folds what there is, where that is ours and worth while.
        """
        history = self._last = self._read(lives)
        captured_ms = self._fill_commits(history, state, lives)
        is_to_be_folded = self._lease is not None and history.is_due
        # Before the answers are taken in: what is believed of a commit is not told apart from what was read.
        commits = to_rows(state.offsets) if is_to_be_folded else None
        answers = self._answers(history)
        fill_answers(state, answers, self._written(history))
        if commits is not None:
            more = {"captured_ms": captured_ms, "lives": lives.told(), **self._meaning}
            more |= told_names(self._config.names, commits, answers)
            self._save((commits, answers), history.versions, more, state)
        return captured_ms

    @property
    def _meaning(self) -> dict[str, Any]:
        """What keys are keys of: other clusters, or other names of topics, are other keys."""
        names = self._config.names.signature
        return {"clusters": sorted(self._config.clusters), **({"names": names} if names else {})}

    def _save(
        self, rows: tuple[pa.Table, pa.Table], versions: tuple[int, ...], more: Mapping[str, Any], state: SyncState
    ) -> None:
        """Write both folds, without the keys of *state* that are over; who cannot reads more at the next start."""
        gone = [state.offsets.keys[row] for row in np.flatnonzero(is_over(state.offsets)).tolist()]
        told = {**more, "moment": uuid.uuid4().hex}
        folds = [Fold(without(each, gone), version, told) for each, version in zip(rows, versions, strict=True)]
        try:
            if self._lease is not None:
                self._lease.renew()
            # The answers first: of a key without commits, what was answered would be taken for what stands.
            for table, fold in reversed(list(zip(_FOLDED, folds, strict=True))):
                self._files.save(self._tables.path(table), fold)
        except TakenOverError:
            raise
        except Exception as problem:
            _warn(problem)

    def restore_commits(self, state: SyncState, lives: CommitLogLives) -> int:
        """Do the same with the commits alone, and fold nothing; return up to which version they are taken in."""
        self._last = self._read(lives)
        self._fill_commits(self._last, state, lives)
        return self._last.versions[0]

    def restore_answers(self, state: SyncState) -> None:
        """Do the same with the answers alone, after the commits."""
        fill_answers(state, self._answers(self._last))

    def _read(self, lives: CommitLogLives) -> _History:
        versions = tuple(self._tables.version(table) for table in _FOLDED)
        lives.refresh()
        folds = self._believed(versions, lives) if any(versions) else None
        if folds is None:
            return _History(versions)
        try:
            read = zip(_FOLDED, folds, versions, strict=True)
            added = tuple(self._tables.read_added(table, fold.version, version) for table, fold, version in read)
        except FileNotFoundError:
            logger.info("the tables were cleaned up since they were folded: reading all of them")
            return _History(versions)
        is_later = _is_later(added[0], folds[0].rows, self._config.clusters)
        return _History(versions, folds, added) if is_later else _History(versions)

    def _believed(self, versions: tuple[int, ...], lives: CommitLogLives) -> tuple[Fold, ...] | None:
        """Return the folds, if both are there, of one moment, of these clusters, and no log has begun a life since."""
        loaded = [self._files.load(self._tables.path(table), schema) for table, schema in _FOLDED.items()]
        folds = tuple(fold for fold in loaded if fold is not None)
        if len(folds) < len(loaded) or folds[0].more != folds[1].more:
            return None
        more, since = folds[0].more, [now - fold.version for now, fold in zip(versions, folds, strict=True)]
        told = {name: each for name, each in more.items() if name in ("clusters", "names")}
        is_ours = told == self._meaning and more["lives"] == lives.told()
        if not (is_ours and all(0 <= each <= TOO_MANY_VERSIONS for each in since)):
            return None
        return folds if are_names_of_now(self._config.names, more) else None

    def _fill_commits(self, history: _History, state: SyncState, lives: CommitLogLives) -> int:
        """Return when the newest commit was captured, in milliseconds; 0 where there is none."""
        if history.folds is None:
            return restore_commits(self._tables, state, lives)
        fold, added = history.folds[0], history.added[0]
        fill_commits(state, fold.rows, state.offsets.clusters)
        for alias in state.offsets.clusters:
            lives.take(alias)
        take_in_added(self._tables, state, added, lives)
        newest = pc.max(added.column("captured_at").cast(pa.int64())).as_py() or 0
        return max(int(fold.more["captured_ms"]), newest // 1000)

    def _answers(self, history: _History) -> pa.Table:
        if history.folds is not None:
            return fold_answers(history.folds[1].rows, history.added[1])
        return last_answers(self._tables) if history.versions[1] else ANSWERS_SCHEMA.empty_table()

    def _written(self, history: _History) -> pa.Table:
        """Return what was written last: the last write of each key that was folded, and all since."""
        if history.folds is None:
            return recent_writes(self._tables.batches(OFFSET_TRANSLATIONS) if history.versions[1] else ())
        folded = history.folds[1].rows
        last = folded.select(KEY_OF_PAIR).append_column("target_offset", folded.column("own_offset"))
        last = last.append_column("translated_at", folded.column("own_at"))
        last = last.append_column("outcome", pa.repeat(pa.scalar(Outcome.COMMITTED.name), folded.num_rows))
        return recent_writes([last.filter(last.column("translated_at").is_valid()), history.added[1]])


def _is_later(added: pa.Table, folded: pa.Table, clusters: Collection[str]) -> bool:
    """Return whether all *added* commits come after what was *folded* of their keys; what is replayed does not.

    Of a key that was dropped no place is known: its last commit was older than what may be dropped, so whatever is
    newer than that comes after it. Errs to False: then all of the history is read.
    """
    place = ["cluster", *KEY]
    known = folded.select([*place, "log_offset"]).rename_columns([*place, "known"])
    both = added.select([*place, "log_offset", "committed_at"]).join(known, place)
    at_ms = pc.divide(both.column("committed_at").cast(pa.int64()), 1000)
    is_earlier = pc.if_else(
        pc.is_null(both.column("known")),
        pc.less(at_ms, heard_of_dropped_until_ms(folded, clusters)),
        pc.less_equal(both.column("log_offset"), both.column("known")),
    )
    return not pc.any(is_earlier).as_py()


def _warn(problem: Exception) -> None:
    reason = next(iter(str(problem).splitlines()), type(problem).__name__)
    logger.warning("the history was not folded: %s", reason)
