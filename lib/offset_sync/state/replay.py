"""What drivers have read of the clusters' commits, from the table ``offset_commits``: what need not be read again.

The table has what a dead cluster's ``__consumer_offsets`` can no longer tell. Its rows are replayed in the order in
which the commits were made, by the same function that takes them in as they are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, POLLED, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations, Lineage
from offset_sync.state.committed_offsets import NEVER_MS, ClusterOffsets, CommitRecords, keep_text
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.row_groups import RowGroups, keys_at
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

KEY = ["group_id", "topic", "partition"]
NUMBERS = (
    *("log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch", "last_offset"),
    *("genuine_offset", "genuine_at_ms", "genuine_made_ms", "genuine_epoch", "rewound_ms", "captured_ms", "first_ms"),
)
_NOT_NEEDED = ("metadata", "expires_at", "captured_by")
_SCHEMA = pa.schema([each for each in OFFSET_COMMITS.arrow_schema if each.name not in _NOT_NEEDED])
MOST_ROWS = 1_000_000
"""So many rows of the table are held at once; of a single group all of them."""
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
    lineage, newest_ms, fresh = incarnations.lineage(), 0, set[GroupPartition]()
    for rows in _in_parts(tables, clusters):
        fresh |= state.offsets.unknown(_keys_of(rows)) if only is not None else set()
        newest_ms = max(newest_ms, _replay(state, rows, lineage))
    if fresh:
        # Keys that were over: their commits at other clusters were dropped, and count again now.
        others = [each for each in state.offsets.clusters if each not in clusters]
        for rows in _in_parts(tables, others):
            _replay(state, rows.filter(pa.array([key in fresh for key in _keys_of(rows)], pa.bool_())), lineage)
    with state.lock:
        for alias in clusters:
            state.offsets.clusters[alias].forget_acknowledged(state.now_ms())
            _keep_clock(state.offsets.clusters[alias], state.all_rows())
    for alias in clusters:
        incarnations.take(alias, lineage)
    note_partitions(state, incarnations)
    return newest_ms


def _in_parts(tables: TableStore, clusters: Collection[str]) -> Iterator[pa.Table]:
    """Yield the rows of *clusters*, all of a group at once; of more than memory holds those of a part of the groups.

    Each part is a reading of its own. A single group is not divided.
    """
    parts = 1 + sum(rows.num_rows for rows in tables.batches(OFFSET_COMMITS, ["cluster"])) // MOST_ROWS
    for part in range(parts):
        batches = tables.batches(OFFSET_COMMITS, _SCHEMA.names)
        yield pa.concat_tables([_SCHEMA.empty_table(), *(_of_part(rows, clusters, part, parts) for rows in batches)])


def _of_part(rows: pa.Table, clusters: Collection[str], part: int, parts: int) -> pa.Table:
    rows = rows.filter(pc.is_in(rows.column("cluster"), pa.array(clusters, pa.string())))
    groups = rows.column("group_id").combine_chunks().dictionary_encode()
    is_mine = np.array([crc32(group.encode()) % parts == part for group in groups.dictionary.to_pylist()], np.bool_)
    return rows.filter(pa.array(is_mine[groups.indices.to_numpy()]))


def _replay(state: SyncState, rows: pa.Table, lineage: Lineage) -> int:
    """Have *state* know of the keys of *rows* what these say, and nothing else; return when one was captured last."""
    gone_ms, newest = lineage.of(rows)
    order = np.lexsort((newest, gone_ms == ABSENT))  # what is gone comes first
    rows, gone_ms, newest = rows.take(pa.array(order)), gone_ms[order], newest[order]
    captured_ms = int64s(rows.column("captured_at")) // 1000
    for alias, commits in state.offsets.clusters.items():
        is_mine = pc.equal(rows.column("cluster"), alias).to_numpy()
        mine = rows.filter(pa.array(is_mine))
        with state.lock:
            key = ids_of(state, mine)
            records, is_own = to_commit_records(mine, key), mine.column("is_own").to_numpy()
            commits.replay(records, is_own, gone_ms[is_mine], newest[is_mine])
            np.maximum.at(commits.columns["captured_ms"], key, captured_ms[is_mine])
            _note_homes(state, alias, np.unique(key))
    return int(captured_ms.max(initial=0))


def note_partitions(state: SyncState, incarnations: CommitLogIncarnations) -> None:
    """Tell *state* the partition count of ``__consumer_offsets`` at each cluster, for the order of commits."""
    with state.lock:
        for alias, cluster in state.offsets.clusters.items():
            cluster.partitions = incarnations.partitions(alias)


def fill_commits(state: SyncState, rows: pa.Table, clusters: Collection[str]) -> None:
    """Replace what *state* knows of the keys of *rows*, one row for each key of a cluster, in *clusters*."""
    for alias in clusters:
        commits, mine = state.offsets.clusters[alias], rows.filter(pc.equal(rows.column("cluster"), alias))
        with state.lock:
            key = ids_of(state, mine)
            for name in NUMBERS:
                commits.columns[name][key] = int64s(mine.column(name), NEVER_MS if name == "first_ms" else ABSENT)
            for name in ("actual_is_own", "is_deleted"):
                commits.columns[name][key] = mine.column(name).to_numpy()
            for place, text in zip(key.tolist(), mine.column("topic_id").to_pylist(), strict=True):
                keep_text(commits.topic_id, place, text)
            _keep_clock(commits, key)
            _note_homes(state, alias, key)


def _note_homes(state: SyncState, alias: str, key: KeyRows) -> None:
    commits = state.offsets.clusters[alias]
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
    rows = rows.filter(pa.array(incarnations.lineage().gone_ms(rows) == ABSENT))
    rows = rows.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    if begun := [each for each in state.offsets.clusters if incarnations.is_new(each)]:
        restore_commits(tables, state, incarnations, begun)
    for alias, commits in state.offsets.clusters.items():
        mine = rows.filter(pc.equal(rows.column("cluster"), alias))
        with state.lock:
            key = ids_of(state, mine)
            state.record_known(alias, to_commit_records(mine, key), mine.column("is_own").to_numpy())
            np.maximum.at(commits.columns["captured_ms"], key, int64s(mine.column("captured_at")) // 1000)
            _keep_clock(commits, key)


def to_commit_records(rows: pa.Table, key: KeyRows) -> CommitRecords:
    """Return rows of offset_commits as commit records."""
    return CommitRecords(
        key=key,
        offset=int64s(rows.column("committed_offset"), ABSENT),
        is_tombstone=rows.column("is_tombstone").to_numpy(),
        committed_at_ms=committed_at_ms(rows),
        made_ms=int64s(rows.column("made_at")) // 1000,
        log_partition=int64s(rows.column("log_partition")),
        log_offset=rows.column("log_offset").to_numpy(),
        topic_id=rows.column("topic_id").to_pylist(),
        leader_epoch=int64s(rows.column("leader_epoch"), ABSENT),
    )


def committed_at_ms(rows: pa.Table) -> Int64s:
    """Return when the commits of rows of ``offset_commits`` were made, by the cluster's clock.

    Of polled commits the earliest time by ours: that of the poll before, ABSENT where there was none.
    """
    is_polled = rows.column("log_partition").to_numpy() <= POLLED
    since_ms = int64s(rows.column("not_before"), ABSENT) // 1000
    return np.where(is_polled, since_ms, int64s(rows.column("committed_at")) // 1000)


def ids_of(state: SyncState, rows: pa.Table) -> KeyRows:
    """Return the row of each row's key, a new one where it was not met before."""
    columns = [rows.column(name) for name in KEY]
    groups = RowGroups.of(columns)
    return state.offsets.ids([GroupPartition(*key) for key in keys_at(columns, groups.first)])[groups.group]


def _keys_of(rows: pa.Table) -> list[GroupPartition]:
    return [GroupPartition(*key) for key in zip(*(rows.column(name).to_pylist() for name in KEY), strict=True)]
