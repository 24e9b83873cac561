"""What former drivers have answered, from the table ``offset_translations``: what need not be computed again.

Work in flight when the last driver died is missing; the streams bring it again, and the reconcile pass reads every
target anyway.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, Outcome, State
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.group_homes import clusters_code
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.replay import KEY, ids_of
from offset_sync.state.row_groups import RowGroups
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

KEY_OF_PAIR = ["source_cluster", "target_cluster", *KEY]
_LAST = ["source_offset", "source_committed_at", "target_offset", "state", "outcome", "duplicates"]
_LAST += ["duplicates_at_most", "lost", "translated_at", "stream", "target_topic", "previous_target_offset", "error"]
_LAST += ["skipped", "members", "contest"]
_OWN = ["own_offset", "own_at"]

ANSWERS_SCHEMA = pa.schema(
    [*(OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in KEY_OF_PAIR)]
    + list(zip(_OWN, (pa.int64(), pa.timestamp("us", tz="UTC")), strict=True))
    + [OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in _LAST]
)
"""The last answer, and the last write and when that was, per pair and key."""


def last_answers(tables: TableStore) -> pa.Table:
    """Return rows of :data:`ANSWERS_SCHEMA`."""
    found = ANSWERS_SCHEMA.empty_table()
    for rows in tables.batches(OFFSET_TRANSLATIONS):
        found = fold_answers(found, rows)
    return found


def fold_answers(before: pa.Table, added: pa.Table) -> pa.Table:
    """Return :func:`last_answers` of the history *before* and of rows *added* to it."""
    if added.num_rows == 0:
        return before
    is_written = pc.equal(added.column("outcome"), Outcome.COMMITTED.name)
    added = added.append_column("own_offset", pc.if_else(is_written, added.column("target_offset"), None))
    added = added.append_column("own_at", pc.if_else(is_written, added.column("translated_at"), None))
    rows = pa.concat_tables([before, added.select(before.column_names).cast(before.schema)])
    is_tried = pc.not_equal(rows.column("outcome"), Outcome.DRY_RUN.name).to_numpy()
    groups = RowGroups.of([rows.column(name) for name in KEY_OF_PAIR])
    # Of two at the same time the added one counts.
    last = groups.last(int64s(rows.column("translated_at")), is_tried)
    own = groups.last(int64s(rows.column("own_at")), rows.column("own_at").is_valid().to_numpy())[last >= 0]
    written = rows.select(_OWN).take(pa.array(own, mask=own < 0))
    found = rows.select([*KEY_OF_PAIR, *_LAST]).take(pa.array(last[last >= 0]))
    columns = {name: (written if name in _OWN else found).column(name) for name in before.column_names}
    return pa.table(columns, schema=before.schema)


def fill_answers(state: SyncState, rows: pa.Table) -> None:
    """Replace what *state* knows of the keys of *rows*, which are as :func:`last_answers` returns them."""
    if rows.num_rows == 0:
        return
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
    _assume_writes(rows, key, state.offsets.clusters[target])
    pair = state.last(source, target).columns
    for name, column in (("source_offset", "source_offset"), ("wanted", "target_offset")):
        pair[name][key] = int64s(rows.column(column), ABSENT)
    for name, column in (("duplicates",) * 2, ("duplicates_at_most",) * 2, ("lost",) * 2, ("listed", "skipped")):
        pair[name][key] = int64s(rows.column(column))
    for name in ("members", "contest"):
        pair[name][key] = [clusters_code(text or "", list(state.offsets.clusters)) for text in rows[name].to_pylist()]
    pair["source_at_ms"][key] = int64s(rows.column("source_committed_at"), ABSENT) // 1000
    pair["restored_ms"][key] = int64s(rows.column("translated_at")) // 1000
    pair["state"][key] = [State[name] for name in rows.column("state").to_pylist()]
    pair["outcome"][key] = [Outcome[name] for name in rows.column("outcome").to_pylist()]


def _assume_writes(rows: pa.Table, key: KeyRows, there: ClusterOffsets) -> None:
    """Assume our last write to be there where nothing was ever read of a key, as with a log we may not read."""
    own, own_at_ms = int64s(rows.column("own_offset"), ABSENT), int64s(rows.column("own_at")) // 1000
    columns = there.columns
    is_believed = (
        (own != ABSENT) & (columns["log_offset"][key] == ABSENT) & (own_at_ms > columns["actual_made_ms"][key])
    )
    for name, values in (("actual_offset", own), ("actual_at_ms", own_at_ms), ("actual_made_ms", own_at_ms)):
        columns[name][key[is_believed]] = values[is_believed]
    columns["actual_is_own"][key[is_believed]] = True
