"""The part of the history that a start needs: the table ``last_known``, instead of all rows ever written.

It holds the last commits of each cluster and key and the last answer of each pair and key, replaced as a whole::

    offset_commits, offset_translations    0 ... 4711 │ 4712 ... 4730      versions of the table
    last_known ──────────────────────────────────────┘        └── read by the next start

The driver of ``sync_offsets`` replaces it after many more versions. It then drops keys that are over, which exist
nowhere, so neither the table nor the next start remembers every group that ever was (``jobs/sync_offsets.py``).

It is used only where both tables still have the very log entries that it is based on: a table that was set back or
recreated has others or none. Errs to not using it: then all of the history is read, which is only slow.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.model.text import one_line
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.committed_offsets import ClusterOffsets, CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.replay import KEY, NUMBERS, fill_commits, restore_commits, take_in_added
from offset_sync.state.restore import ANSWERS_SCHEMA, fill_answers, fold_answers, last_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import fitted
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import entry

_Column = NDArray[Any] | list[Any]
KEPT_MS = 7 * 24 * 3600 * 1000
"""How long a key is kept after its last commit or deletion."""
_OF_COMMITS = ("cluster", *KEY, *NUMBERS, "actual_is_own", "is_deleted", "topic_id")
COMMITS_SCHEMA = pa.schema([LAST_KNOWN.arrow_schema.field(name) for name in _OF_COMMITS])
_COLUMNS = list(zip(COMMITS_SCHEMA.names, COMMITS_SCHEMA.types, strict=True))


def to_rows(offsets: CommittedOffsets) -> pa.Table:
    """Return all commits, in the form that ``fill_commits`` reads.

    Only for a state without pending writes: acknowledged and read offsets are not distinguished.
    """
    parts = [_columns_of(alias, commits, offsets) for alias, commits in offsets.clusters.items()]
    columns = [pa.array(_joined([part[name] for part in parts]), kind) for name, kind in _COLUMNS]
    return pa.table(columns, schema=COMMITS_SCHEMA)


def is_over(offsets: CommittedOffsets, kept_ms: int = KEPT_MS) -> NDArray[np.bool_]:
    """Return which keys were deleted wherever a group has committed them, and exist nowhere; shape (keys,).

    A write of ours that was not read back exists. Every cluster's commit log has to be read for *kept_ms* beyond the
    key's last record, by the times in it: an absent cluster may have newer ones. A later commit of such a key is like
    that of a new key: below the one before the deletion it is no rewind. A commit that was truncated, not deleted, is
    kept, as all that is known. Errs to False.
    """
    is_kept = (offsets.column("genuine_at_ms") != ABSENT) & (offsets.column("is_deleted") == 0)
    is_there = ((offsets.column("actual_offset") != ABSENT) | is_kept).any(axis=0)
    heard_ms = np.maximum(offsets.column("actual_at_ms"), offsets.column("genuine_at_ms")).max(axis=0, initial=ABSENT)
    read_until_ms = offsets.column("actual_at_ms").max(axis=1, initial=ABSENT).min()
    over: NDArray[np.bool_] = ~is_there & (heard_ms < read_until_ms - kept_ms)
    return over


def heard_of_dropped_until_ms(rows: pa.Table, clusters: Collection[str]) -> int:
    """Return a time, in ms, after the last record of every key that was dropped from *rows*."""
    newest = rows.group_by("cluster").aggregate([("actual_at_ms", "max")]).column("actual_at_ms_max").to_pylist()
    # The newest row of a cluster is never dropped: one without rows never had any, and then nothing was dropped.
    return min(newest) - KEPT_MS if len(newest) == len(clusters) > 0 else ABSENT


def without(rows: pa.Table, gone: Sequence[GroupPartition]) -> pa.Table:
    """Return *rows*, which have the columns of a key, without those of keys that are *gone*."""
    if not gone:
        return rows
    columns = {name: pa.array([getattr(key, name) for key in gone], rows.schema.field(name).type) for name in KEY}
    return rows.join(pa.table(columns), KEY, join_type="left anti", use_threads=False).select(rows.column_names)


def _joined(parts: Sequence[_Column]) -> _Column:
    if parts and isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [value for part in parts for value in part]


def _columns_of(alias: str, commits: ClusterOffsets, offsets: CommittedOffsets) -> dict[str, _Column]:
    columns = commits.columns
    is_known = columns["is_deleted"].copy()
    for name in NUMBERS[:-1]:
        is_known |= columns[name] != ABSENT
    key: KeyRows = is_known.nonzero()[0]
    keys = [offsets.keys[row] for row in key.tolist()]
    found: dict[str, _Column] = {"cluster": [alias] * len(key)}
    found |= {name: [getattr(each, name) for each in keys] for name in KEY}
    found |= {name: columns[name][key] for name in (*NUMBERS, "actual_is_own", "is_deleted")}
    found["topic_id"] = [commits.topic_id.get(row) for row in key.tolist()]
    return found


logger = logging.getLogger(__name__)
MANY_VERSIONS = 100
"""After so many a replacement is due: a start reads each of them, in 5 ms on a local disk and more elsewhere."""
TOO_MANY_VERSIONS = 5_000
LOOK_S = 60.0
_HISTORIES = (OFFSET_COMMITS, OFFSET_TRANSLATIONS)


class _History(NamedTuple):
    """Both tables up to their *versions*: the last *commits* and *answers* of earlier ones, and the rows *added* since.

    *basis* says what the former are based on; without it all of the history has to be read.
    """

    versions: tuple[int, ...]
    basis: dict[str, Any] | None = None
    commits: pa.Table = COMMITS_SCHEMA.empty_table()
    answers: pa.Table = ANSWERS_SCHEMA.empty_table()
    added: tuple[pa.Table, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether a replacement is due."""
        if self.basis is None:
            return self.versions[0] > 0
        return any(
            now - before >= MANY_VERSIONS for now, before in zip(self.versions, self.basis["versions"], strict=True)
        )


class LastKnown:
    """The table in *tables*; only a driver of ``sync_offsets`` *replaces* it, by fenced *tables*."""

    def __init__(self, tables: TableStore, config: Config, *, replaces: bool = False) -> None:
        self._tables, self._config, self._replaces = tables, config, replaces
        self._last = _History((0, 0))

    def replace_if_grown(self) -> None:
        """Replace the table if the histories have grown by much."""
        versions = (self._tables.version(table) for table in _HISTORIES)
        grown = (now - before for now, before in zip(versions, self._last.versions, strict=True))
        if any(each >= MANY_VERSIONS for each in grown):
            self.restore(
                SyncState(self._config, RecordIndex(self._tables)),
                CommitLogIncarnations(self._tables, self._config.polled()),
            )

    def restore(self, state: SyncState, incarnations: CommitLogIncarnations) -> int:
        """Fill the empty *state* with the last commits and answers; return when the newest commit was captured, in ms.

        Replaces the table if a driver asks and it is due.
        """
        history = self._last = self._read(incarnations)
        captured_ms = self._fill_commits(history, state, incarnations)
        is_to_be_replaced = self._replaces and history.is_due
        # Before the answers are taken in: they add assumed commits, which look like read ones.
        commits = to_rows(state.offsets) if is_to_be_replaced else None
        answers = self._answers(history)
        fill_answers(state, answers)
        if commits is not None:
            gone = [state.offsets.keys[row] for row in np.flatnonzero(is_over(state.offsets)).tolist()]
            rows = _to_table(without(commits, gone), without(answers, gone))
            self._replace(
                rows, {"versions": history.versions, "captured_ms": captured_ms, "lives": incarnations.as_json()}
            )
        return captured_ms

    def restore_commits(self, state: SyncState, incarnations: CommitLogIncarnations) -> int:
        """Restore the commits alone, and replace nothing; return their version of ``offset_commits``."""
        self._last = self._read(incarnations)
        self._fill_commits(self._last, state, incarnations)
        return self._last.versions[0]

    def restore_answers(self, state: SyncState) -> None:
        """Restore the answers alone, after the commits."""
        fill_answers(state, self._answers(self._last))

    def read_answers(self, incarnations: CommitLogIncarnations) -> tuple[pa.Table, int]:
        """Return the last answers alone, and their version of ``offset_translations``; reads no later commits."""
        history = self._read(incarnations, of_commits=False)
        return self._answers(history), history.versions[1]

    def _replace(self, rows: pa.Table, basis: dict[str, Any]) -> None:
        """Replace the table; after a failure the next start only reads more."""
        try:
            basis |= self._meaning | {"entries": self._entries(basis["versions"]), "rows": rows.num_rows}
            text = json.dumps(basis)
            self._tables.replace(LAST_KNOWN, rows.append_column("stands_on", pa.repeat(text, rows.num_rows)))
        except TakenOverError:
            raise
        except Exception as problem:
            logger.warning("last_known was not replaced: %s", one_line(problem))

    @property
    def _meaning(self) -> dict[str, Any]:
        """What keys depend on: with other clusters or topic names they are other keys."""
        return {"clusters": sorted(self._config.clusters), "names": self._config.names.signature}

    def _entries(self, versions: Collection[int]) -> list[str]:
        """Return hashes of these entries of the tables' logs; FileNotFoundError where one is gone."""
        paths = [entry(self._tables.path(table), each) for table, each in zip(_HISTORIES, versions, strict=True)]
        return [hashlib.sha256(self._tables.files.read_text(path).encode()).hexdigest() for path in paths]

    def _read(self, incarnations: CommitLogIncarnations, *, of_commits: bool = True) -> _History:
        versions = tuple(self._tables.version(table) for table in _HISTORIES)
        incarnations.refresh()
        try:
            return self._believed(versions, incarnations, of_commits) if any(versions) else _History(versions)
        except (TableError, OSError, ValueError, KeyError, TypeError) as problem:
            logger.info("last_known is not used, reading all of the history: %s", one_line(problem))
            return _History(versions)

    def _believed(self, versions: tuple[int, ...], incarnations: CommitLogIncarnations, of_commits: bool) -> _History:
        """Return the history by the table and the rows since; raises ValueError and others where it does not fit."""
        rows = self._tables.all_rows(LAST_KNOWN)
        if rows.num_rows == 0:
            return _History(versions)
        basis = json.loads(rows.column("stands_on")[0].as_py())
        before = basis["versions"]
        if {name: basis[name] for name in self._meaning} != self._meaning or basis["lives"] != incarnations.as_json():
            raise ValueError("clusters, names or logs have changed")
        if any(now - then > TOO_MANY_VERSIONS for now, then in zip(versions, before, strict=True)):
            raise ValueError(f"it is of versions {before}, and the tables have {list(versions)}")
        if basis["entries"] != self._entries(before) or basis["rows"] != rows.num_rows:
            raise ValueError("the tables were set back or recreated, or rows are missing")
        read = zip(_HISTORIES, before, versions if of_commits else (before[0], versions[1]), strict=True)
        added = tuple(self._tables.read_added(table, then, now) for table, then, now in read)
        is_answer = rows.column("target_cluster").is_valid()
        commits = rows.filter(pc.invert(is_answer)).select(COMMITS_SCHEMA.names)
        answers = rows.filter(is_answer).rename_columns({"cluster": "source_cluster"}).select(ANSWERS_SCHEMA.names)
        if not _is_later(added[0], commits, self._config.clusters):
            raise ValueError("a commit arrived late")
        return _History(versions, basis, commits, answers, added)

    def _fill_commits(self, history: _History, state: SyncState, incarnations: CommitLogIncarnations) -> int:
        """Return when the newest commit was captured, in milliseconds; 0 where there is none."""
        if history.basis is None:
            return restore_commits(self._tables, state, incarnations)
        added = history.added[0]
        fill_commits(state, history.commits, state.offsets.clusters)
        for alias in state.offsets.clusters:
            incarnations.take(alias)
        take_in_added(self._tables, state, added, incarnations)
        newest = pc.max(added.column("captured_at").cast(pa.int64())).as_py() or 0
        return max(int(history.basis["captured_ms"]), newest // 1000)

    def _answers(self, history: _History) -> pa.Table:
        if history.basis is not None:
            return fold_answers(history.answers, history.added[1])
        return last_answers(self._tables) if history.versions[1] else ANSWERS_SCHEMA.empty_table()


def _to_table(commits: pa.Table, answers: pa.Table) -> pa.Table:
    """Return both as rows of the table, without ``stands_on``."""
    schema = pa.schema(LAST_KNOWN.arrow_schema.remove(LAST_KNOWN.names.index("stands_on")))
    answers = answers.rename_columns({"source_cluster": "cluster"})
    return pa.concat_tables([fitted(commits, schema), fitted(answers, schema)])


def _is_later(added: pa.Table, known: pa.Table, clusters: Collection[str]) -> bool:
    """Return whether all *added* commits come after the *known* ones of their keys.

    The place of a dropped key is unknown: its last commit was older than the limit for dropping, so all that is newer
    comes after it. Errs to False: then all of the history is read.
    """
    place = ["cluster", *KEY]
    last = known.select([*place, "log_offset"]).rename_columns([*place, "known"])
    both = added.select([*place, "log_offset", "committed_at"]).join(last, place)
    at_ms = pc.divide(both.column("committed_at").cast(pa.int64()), 1000)
    is_earlier = pc.if_else(
        pc.is_null(both.column("known")),
        pc.less(at_ms, heard_of_dropped_until_ms(known, clusters)),
        pc.less_equal(both.column("log_offset"), both.column("known")),
    )
    return not pc.any(is_earlier).as_py()
