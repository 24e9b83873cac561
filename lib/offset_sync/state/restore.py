"""What former drivers have read and answered, from the tables: what need not be read, computed or written again.

The tables have what a dead cluster's ``__consumer_offsets`` can no longer tell. Work in flight when the last driver
died is missing; the streams bring it again, and the reconcile pass reads every target anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, POLLED, GroupPartition, Outcome, State
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.committed_offsets import NEVER_MS, ClusterOffsets, CommitRecords, keep_text
from offset_sync.state.group_homes import clusters_code
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_commits import KEY, committed_at_ms, last_commits, made_at_ms
from offset_sync.state.row_groups import RowGroups
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

NUMBERS = (
    *("log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch", "last_offset"),
    *("genuine_offset", "genuine_at_ms", "genuine_made_ms", "genuine_epoch", "rewound_ms", "captured_ms", "first_ms"),
)
_SAMPLES = 50
"""A cluster's clock is estimated from so many keys' newest commits: a client may have stamped any of them."""


def restore_commits(
    tables: TableStore, state: SyncState, incarnations: CommitLogIncarnations, only: Collection[str] | None = None
) -> int:
    """Fill *state* with the last existing commit of every key and cluster, and the last genuine one.

    Commits that were truncated with their log are dropped; but a genuine one counts as long as its key has no other:
    the group has read that far. *only* replaces all that is known of these clusters. Return when the newest row was
    captured, in milliseconds; 0 where there is none.
    """
    clusters = list(state.offsets.clusters) if only is None else list(only)
    incarnations.refresh()
    places, others = incarnations.places(), [each for each in state.offsets.clusters if each not in clusters]
    rows = last_commits(_of_clusters(tables, clusters), places)
    if only is not None and (fresh := state.offsets.unknown(_keys_of(rows))):
        # Keys that were over: their commits at other clusters were dropped, and count again now.
        said = last_commits(_of_clusters(tables, others), places)
        fresh_said = said.filter(pa.array([key in fresh for key in _keys_of(said)], pa.bool_()))
        fill_commits(state, fresh_said, others)
    fill_commits(state, rows, clusters, is_all=True)
    for alias in clusters:
        incarnations.take(alias, places)
    note_partitions(state, incarnations)
    return newest_captured(rows)


def note_partitions(state: SyncState, incarnations: CommitLogIncarnations) -> None:
    """Tell *state* the partition count of ``__consumer_offsets`` at each cluster, for the order of commits."""
    with state.lock:
        for alias, cluster in state.offsets.clusters.items():
            cluster.partitions = incarnations.partitions(alias)


def _of_clusters(tables: TableStore, clusters: Collection[str]) -> Iterator[pa.Table]:
    for rows in tables.batches(OFFSET_COMMITS):
        yield rows.filter(pc.is_in(rows.column("cluster"), pa.array(clusters, pa.string())))


def newest_captured(rows: pa.Table) -> int:
    """Return when the newest of the last commits was captured, in milliseconds; 0 where there is none."""
    return int(pc.max(rows.column("captured_ms")).as_py() or 0)


def fill_commits(state: SyncState, rows: pa.Table, clusters: Collection[str], *, is_all: bool = False) -> None:
    """Replace what *state* knows of the keys of *rows*, one row for each key of a cluster, in *clusters*.

    Where *is_all* says that there are no others, writes that were not read back count as gone.
    """
    for alias in clusters:
        commits, mine = state.offsets.clusters[alias], rows.filter(pc.equal(rows.column("cluster"), alias))
        with state.lock:
            key = ids_of(state, mine)
            if is_all:
                commits.forget_acknowledged()
            if mine.num_rows == 0:
                continue
            for name in NUMBERS:
                commits.columns[name][key] = int64s(mine.column(name), NEVER_MS if name == "first_ms" else ABSENT)
            for name in ("actual_is_own", "is_deleted"):
                commits.columns[name][key] = mine.column(name).to_numpy()
            for place, text in zip(key.tolist(), mine.column("topic_id").to_pylist(), strict=True):
                keep_text(commits.topic_id, place, text)
            _keep_clock(commits, key)
            made_ms, since_ms = commits.columns["genuine_made_ms"][key], commits.earliest_ms("genuine", key)
            is_made = made_ms != ABSENT
            state.homes.note_commits(alias, key[is_made], made_ms[is_made], since_ms[is_made])


def _keep_clock(commits: ClusterOffsets, key: KeyRows) -> None:
    """Take over the former driver's measurement of a cluster's clock, by the newest commits of several keys."""
    if commits.is_polled:
        return
    key = key[commits.columns["log_partition"][key] > POLLED]  # these times are not by the cluster's clock
    made_ms, at_ms = commits.columns["actual_made_ms"][key], commits.columns["actual_at_ms"][key]
    newest = np.argsort(made_ms)[-_SAMPLES:]
    newest = newest[made_ms[newest] != ABSENT]
    if len(newest):
        commits.clock.keep(int(np.median(at_ms[newest] - made_ms[newest])))


def follow_commits(tables: TableStore, state: SyncState, known: int, incarnations: CommitLogIncarnations) -> int:
    """Take in rows appended after the version *known* of offset_commits; return the version that *state* is at.

    For processes that only read the tables. Rows that are read twice change nothing.
    """
    rows, version = tables.rows_since(OFFSET_COMMITS, known)
    if version != known:
        take_in_added(tables, state, rows, incarnations)
    return version


def take_in_added(tables: TableStore, state: SyncState, rows: pa.Table, incarnations: CommitLogIncarnations) -> None:
    """Take in *rows* that were appended to offset_commits since, in any order; known ones change nothing."""
    incarnations.refresh()  # after the rows were read: incarnations and partition counts are written before their rows
    note_partitions(state, incarnations)
    rows = _existing(rows, incarnations).sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    if begun := [each for each in state.offsets.clusters if incarnations.is_new(each)]:
        restore_commits(tables, state, incarnations, begun)
    for alias in state.offsets.clusters:
        _take_in(state, alias, rows.filter(pc.equal(rows.column("cluster"), alias)))


def _take_in(state: SyncState, alias: str, rows: pa.Table) -> KeyRows:
    """Take in *rows* of the cluster *alias*, in log order; return the rows of their keys."""
    with state.lock:
        key = ids_of(state, rows)
        state.record_known(alias, to_commit_records(rows, key), rows.column("is_own").to_numpy())
        captured_ms = int64s(rows.column("captured_at")) // 1000
        np.maximum.at(state.offsets.clusters[alias].columns["captured_ms"], key, captured_ms)
        _keep_clock(state.offsets.clusters[alias], key)
        return key


def restore_missed(
    tables: TableStore,
    state: SyncState,
    alias: str,
    since: Mapping[int, int],
    until: Mapping[int, int],
    incarnations: CommitLogIncarnations,
) -> KeyRows:
    """Take in what another driver has read of the cluster *alias*; return the rows of the keys.

    It has read from the offsets *since* up to *until*, by partition of the cluster's commit log; one that is not in
    *since* from its beginning. The table's versions are not used: most rows appended lately are our own. Where the log
    has begun another incarnation, offsets are not comparable, and the whole cluster is restored.
    """
    incarnations.refresh()
    note_partitions(state, incarnations)
    if incarnations.is_new(alias):
        restore_commits(tables, state, incarnations, [alias])
        return state.all_rows()
    below = {partition: since.get(partition, 0) for partition, end in until.items() if end > since.get(partition, 0)}
    if not below:
        return np.empty(0, np.intp)
    missed = [OFFSET_COMMITS.arrow_schema.empty_table(), *_from_places(tables, alias, below)]
    rows = _existing(pa.concat_tables(missed), incarnations)
    rows = rows.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    return np.unique(_take_in(state, alias, rows))


def _from_places(tables: TableStore, alias: str, first: Mapping[int, int]) -> Iterator[pa.Table]:
    """Yield the commits of a cluster at or above the *first* offset of each partition of its log."""
    for rows in tables.batches(OFFSET_COMMITS):
        partition, offset = (rows.column(name).to_numpy() for name in ("log_partition", "log_offset"))
        is_wanted = np.zeros(rows.num_rows, np.bool_)
        for number, least in first.items():
            is_wanted |= (partition == number) & (offset >= least)
        yield rows.filter(pc.and_(pc.equal(rows.column("cluster"), alias), pa.array(is_wanted)))


def _existing(rows: pa.Table, incarnations: CommitLogIncarnations) -> pa.Table:
    return rows.filter(pa.array(incarnations.gone_ms(rows) == ABSENT))


def to_commit_records(rows: pa.Table, key: KeyRows) -> CommitRecords:
    """Return rows of offset_commits as commit records."""
    return CommitRecords(
        key=key,
        offset=int64s(rows.column("committed_offset"), ABSENT),
        is_tombstone=rows.column("is_tombstone").to_numpy(),
        committed_at_ms=committed_at_ms(rows),
        made_ms=made_at_ms(rows),
        log_partition=int64s(rows.column("log_partition")),
        log_offset=rows.column("log_offset").to_numpy(),
        topic_id=rows.column("topic_id").to_pylist(),
        leader_epoch=int64s(rows.column("leader_epoch"), ABSENT),
    )


def ids_of(state: SyncState, rows: pa.Table) -> KeyRows:
    """Return the row of each row's key, a new one where it was not met before."""
    return state.offsets.ids(_keys_of(rows))


def _keys_of(rows: pa.Table) -> list[GroupPartition]:
    return [GroupPartition(*key) for key in zip(*(rows.column(name).to_pylist() for name in KEY), strict=True)]


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
