"""What the last driver has answered, from the tables: what need not be asked, done or written again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, Outcome, State
from offset_sync.state.committed_offsets import ClusterOffsets
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_commits import KEY
from offset_sync.state.own_writes import NOTHING
from offset_sync.state.restore import ids_of
from offset_sync.state.row_groups import RowGroups
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.protocol import Tables

_PAIR_KEY = ["source_cluster", "target_cluster", *KEY]
_LAST = ["source_offset", "source_committed_at", "target_offset", "state", "outcome", "duplicates"]
_LAST += ["duplicates_at_most", "lost", "translated_at"]
_OWN = ["own_offset", "own_at"]

ANSWERS_SCHEMA = pa.schema(
    [*(OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in _PAIR_KEY)]
    + list(zip(_OWN, (pa.int64(), pa.timestamp("us", tz="UTC")), strict=True))
    + [OFFSET_TRANSLATIONS.arrow_schema.field(name) for name in _LAST]
)
"""What was answered last, and what was written last and when, per pair and key."""


def restore_answers(tables: Tables, state: SyncState) -> None:
    """Fill in our own writes and each pair's last translations, so that what is known is not written again."""
    if tables.version(OFFSET_TRANSLATIONS):
        fill_answers(state, last_answers(tables))


def last_answers(tables: Tables) -> pa.Table:
    """Return rows of :data:`ANSWERS_SCHEMA`."""
    found = ANSWERS_SCHEMA.empty_table()
    for rows in tables.batches(OFFSET_TRANSLATIONS):
        found = fold_answers(found, rows)
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
    groups = RowGroups.of([rows.column(name) for name in _PAIR_KEY])
    # Where two are of the same time, that which was added counts.
    last = groups.last(int64s(rows.column("translated_at")), is_tried)
    own = groups.last(int64s(rows.column("own_at")), rows.column("own_at").is_valid().to_numpy())[last >= 0]
    written = rows.select(_OWN).take(pa.array(own, mask=own < 0))
    found = rows.select([*_PAIR_KEY, *_LAST]).take(pa.array(last[last >= 0]))
    columns = {name: (written if name in _OWN else found).column(name) for name in before.column_names}
    return pa.table(columns, schema=before.schema)


def fill_answers(state: SyncState, rows: pa.Table) -> None:
    """Put *rows*, as :func:`last_answers` returns them, in the place of what *state* knows of those keys."""
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
    _restore_own_writes(rows, key, state.offsets.clusters[source], state.offsets.clusters[target])
    pair = state.last(source, target).columns
    for name, column in (("source_offset", "source_offset"), ("wanted", "target_offset")):
        pair[name][key] = int64s(rows.column(column), ABSENT)
    for name in ("duplicates", "duplicates_at_most", "lost"):
        pair[name][key] = int64s(rows.column(name))
    pair["source_at_ms"][key] = rows.column("source_committed_at").cast(pa.int64()).to_numpy() // 1000
    pair["restored_ms"][key] = rows.column("translated_at").cast(pa.int64()).to_numpy() // 1000
    pair["state"][key] = [State[name] for name in rows.column("state").to_pylist()]
    pair["outcome"][key] = [Outcome[name] for name in rows.column("outcome").to_pylist()]


def _restore_own_writes(rows: pa.Table, key: KeyRows, here: ClusterOffsets, there: ClusterOffsets) -> None:
    """Note the writes that may not have been read back: later than all that was read, by clocks a minute apart.

    Only those that may carry the source's metadata: the others have our tag. Where nothing was ever read of a key, as
    of a cluster whose log we may not read, what we wrote last is believed to stand.
    """
    own = int64s(rows.column("own_offset"), NOTHING)
    own_at_ms = int64s(rows.column("own_at")) // 1000
    is_earlier = own_at_ms + CLOCKS_APART_MS < there.columns["actual_at_ms"][key]
    is_carried = np.array([number in here.metadata for number in key.tolist()], np.bool_)
    is_read_back = there.columns["actual_is_own"][key] & (there.columns["actual_offset"][key] == own)
    is_pending = is_carried & (own != NOTHING) & ~is_read_back & ~is_earlier
    there.own_writes.acknowledge(key[is_pending], own[is_pending])
    columns = there.columns
    is_believed = (own != NOTHING) & (columns["log_offset"][key] == ABSENT) & (own_at_ms > columns["actual_at_ms"][key])
    for name, values in (("actual_offset", own), ("actual_at_ms", own_at_ms)):
        columns[name][key[is_believed]] = values[is_believed]
    columns["actual_is_own"][key[is_believed]] = True
