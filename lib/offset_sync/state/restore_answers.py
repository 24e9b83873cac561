"""What the last driver has answered, from the tables: what need not be asked, done or written again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, Outcome, State
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_commits import KEY
from offset_sync.state.restore import ids_of
from offset_sync.state.row_groups import RowGroups
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

KEY_OF_PAIR = ["source_cluster", "target_cluster", *KEY]
_LAST = ["source_offset", "source_committed_at", "target_offset", "state", "outcome", "duplicates"]
_LAST += ["duplicates_at_most", "lost", "translated_at", "stream", "target_topic"]
_OWN = ["own_offset", "own_at"]

ANSWERS_SCHEMA = pa.schema(
    [*(OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in KEY_OF_PAIR)]
    + list(zip(_OWN, (pa.int64(), pa.timestamp("us", tz="UTC")), strict=True))
    + [OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in _LAST]
)
"""What was answered last, and what was written last and when, per pair and key."""


_WRITTEN = [*KEY_OF_PAIR, "target_offset", "translated_at"]
_RECENT_MS = 3_600_000
"""Writes that may not have been read back are looked for among those of so long before the newest."""


def restore_answers(tables: TableStore, state: SyncState) -> None:
    """Fill in our own writes and each pair's last translations, so that what is known is not written again."""
    if tables.version(OFFSET_TRANSLATIONS):
        fill_answers(state, last_answers(tables), recent_writes(tables.batches(OFFSET_TRANSLATIONS)))


def last_answers(tables: TableStore) -> pa.Table:
    """Return rows of :data:`ANSWERS_SCHEMA`."""
    found = ANSWERS_SCHEMA.empty_table()
    for rows in tables.batches(OFFSET_TRANSLATIONS):
        found = fold_answers(found, rows)
    return found


def recent_writes(batches: Iterable[pa.Table]) -> pa.Table:
    """Return what was written last by rows of ``offset_translations``: each write, in no order."""
    found = OFFSET_TRANSLATIONS.arrow_schema.empty_table().select(_WRITTEN)
    for rows in batches:
        rows = rows.filter(pc.equal(rows.column("outcome"), Outcome.COMMITTED.name)).select(_WRITTEN)
        found = pa.concat_tables([found, rows.cast(found.schema)])
        if (newest := pc.max(found.column("translated_at")).as_py()) is not None:
            since = newest - timedelta(milliseconds=_RECENT_MS)
            found = found.filter(pc.greater(found.column("translated_at"), since))
    return found


def fold_answers(before: pa.Table, added: pa.Table) -> pa.Table:
    """Return :func:`last_answers` of the history that had been *before*, and of rows *added* to it."""
    if added.num_rows == 0:
        return before
    is_written = pc.equal(added.column("outcome"), Outcome.COMMITTED.name)
    added = added.append_column("own_offset", pc.if_else(is_written, added.column("target_offset"), None))
    added = added.append_column("own_at", pc.if_else(is_written, added.column("translated_at"), None))
    rows = pa.concat_tables([before, added.select(before.column_names).cast(before.schema)])
    is_tried = pc.not_equal(rows.column("outcome"), Outcome.DRY_RUN.name).to_numpy()
    groups = RowGroups.of([rows.column(name) for name in KEY_OF_PAIR])
    # Where two are of the same time, that which was added counts.
    last = groups.last(int64s(rows.column("translated_at")), is_tried)
    own = groups.last(int64s(rows.column("own_at")), rows.column("own_at").is_valid().to_numpy())[last >= 0]
    written = rows.select(_OWN).take(pa.array(own, mask=own < 0))
    found = rows.select([*KEY_OF_PAIR, *_LAST]).take(pa.array(last[last >= 0]))
    columns = {name: (written if name in _OWN else found).column(name) for name in before.column_names}
    return pa.table(columns, schema=before.schema)


def fill_answers(state: SyncState, rows: pa.Table, written: pa.Table | None = None) -> None:
    """Put *rows*, as :func:`last_answers` returns them, in the place of what *state* knows of those keys.

    *written* are :func:`recent_writes`: those that were not read back are ours when the log brings them. None for a
    state by which nothing is captured.
    """
    if rows.num_rows == 0:
        return
    if written is not None:
        _inherit_writes(state, written)
    rows = rows.sort_by("own_at")
    for source, target in state.last_translations:
        is_source = pc.equal(rows.column("source_cluster"), source)
        is_pair = pc.and_(is_source, pc.equal(rows.column("target_cluster"), target))
        of_pair = rows.filter(is_pair)
        with state.lock:
            if of_pair.num_rows:
                _restore_pair(of_pair, state, source, target)


def _restore_pair(rows: pa.Table, state: SyncState, source: str, target: str) -> None:
    key = ids_of(state, rows)
    _believe_writes(rows, key, state.offsets.clusters[target])
    pair = state.last(source, target).columns
    for name, column in (("source_offset", "source_offset"), ("wanted", "target_offset")):
        pair[name][key] = int64s(rows.column(column), ABSENT)
    for name in ("duplicates", "duplicates_at_most", "lost"):
        pair[name][key] = int64s(rows.column(name))
    pair["source_at_ms"][key] = rows.column("source_committed_at").cast(pa.int64()).to_numpy() // 1000
    pair["restored_ms"][key] = rows.column("translated_at").cast(pa.int64()).to_numpy() // 1000
    pair["state"][key] = [State[name] for name in rows.column("state").to_pylist()]
    pair["outcome"][key] = [Outcome[name] for name in rows.column("outcome").to_pylist()]


def _inherit_writes(state: SyncState, written: pa.Table) -> None:
    """Have writes count as pending that were made after the last record of their key that was captured."""
    written = written.sort_by("translated_at")
    for target, cluster in state.offsets.clusters.items():
        mine = written.filter(pc.equal(written.column("target_cluster"), target))
        with state.lock:
            key, column = ids_of(state, mine), cluster.columns
            at_ms, offset = int64s(mine.column("translated_at")) // 1000, int64s(mine.column("target_offset"))
            is_later = at_ms > column["actual_made_ms"][key]
            # What is captured of a key last was ours, and was captured after this write of the same value: it is that.
            is_captured = column["actual_is_own"][key] & (offset == column["actual_offset"][key])
            is_captured &= at_ms <= column["captured_ms"][key]
            by_key: dict[int, list[int]] = {}
            writes = zip(*(each[is_later].tolist() for each in (key, offset, is_captured)), strict=True)
            for row, value, is_read in writes:
                pending = by_key.setdefault(row, [])
                if is_read:
                    pending.clear()
                else:
                    pending.append(value)
            for row, values in by_key.items():
                cluster.own_writes.inherit(row, values)


def _believe_writes(rows: pa.Table, key: KeyRows, there: ClusterOffsets) -> None:
    """Believe what we wrote last to be there where nothing was ever read of a key, as of a log we may not read."""
    own, own_at_ms = int64s(rows.column("own_offset"), ABSENT), int64s(rows.column("own_at")) // 1000
    columns = there.columns
    is_believed = (
        (own != ABSENT) & (columns["log_offset"][key] == ABSENT) & (own_at_ms > columns["actual_made_ms"][key])
    )
    for name, values in (("actual_offset", own), ("actual_at_ms", own_at_ms), ("actual_made_ms", own_at_ms)):
        columns[name][key[is_believed]] = values[is_believed]
    columns["actual_is_own"][key[is_believed]] = True
