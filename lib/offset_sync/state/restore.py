"""The commits that the last driver has seen, from the tables; for what it answered see ``restore_answers.py``.

The tables know what a dead cluster's ``__consumer_offsets`` can no longer tell. What was in hand when the last driver
died is missing; the streams bring it again, and the reconcile pass looks at every target anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import OWN_TAG, CommitRecords, keep_text
from offset_sync.state.index_rows import int64s
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_commits import KEY, last_commits
from offset_sync.state.own_writes import NOTHING
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.protocol import Tables

_TIMES = ("actual_at_ms", "genuine_at_ms", "rewound_at_ms")


def restore_commits(
    tables: Tables, state: SyncState, lives: CommitLogLives, only: Collection[str] | None = None
) -> int:
    """Fill *state* with the last commit of every key and cluster that stands, and the last genuine one.

    Where the log of commits has begun another life nothing stands of what is gone, and a genuine commit that is gone
    counts as long as no other one of its key stands: the group has read what it said. *only* these clusters, of which
    everything known is replaced. Return when the newest row was captured, in milliseconds; 0 where there is none.
    """
    clusters = list(state.offsets.clusters) if only is None else list(only)
    lives.refresh()
    if tables.version(OFFSET_COMMITS) == 0:
        return 0
    places, others = lives.places(), [each for each in state.offsets.clusters if each not in clusters]
    rows = last_commits(_of_clusters(tables, clusters), places)
    if only is not None and (fresh := state.offsets.unknown(_keys_of(rows))):
        # Keys that were over: what others have said of them was dropped, and decides with what is back.
        said = last_commits(_of_clusters(tables, others), places)
        fresh_said = said.filter(pa.array([key in fresh for key in _keys_of(said)], pa.bool_()))
        fill_commits(state, fresh_said, others)
    fill_commits(state, rows, clusters, is_all=True)
    for alias in clusters:
        lives.take(alias)
    return newest_captured(rows)


def _of_clusters(tables: Tables, clusters: Collection[str]) -> Iterator[pa.Table]:
    for rows in tables.batches(OFFSET_COMMITS):
        yield rows.filter(pc.is_in(rows.column("cluster"), pa.array(clusters, pa.string())))


def newest_captured(rows: pa.Table) -> int:
    """Return when the newest of the last commits was captured, in milliseconds; 0 where there is none."""
    return int(pc.max(rows.column("captured_ms")).as_py() or 0)


def fill_commits(state: SyncState, rows: pa.Table, clusters: Collection[str], *, is_all: bool = False) -> None:
    """Put *rows*, one for each key of a cluster, in the place of what *state* knows of those keys in *clusters*.

    Where they are all that there are, what was written and not read back since counts as gone.
    """
    for alias in clusters:
        commits, mine = state.offsets.clusters[alias], rows.filter(pc.equal(rows.column("cluster"), alias))
        with state.lock:
            key = ids_of(state, mine)
            if is_all:
                commits.forget_acknowledged()
            if mine.num_rows == 0:
                continue
            for name in ("log_offset", "actual_offset", "genuine_offset", "genuine_epoch", *_TIMES):
                commits.columns[name][key] = int64s(mine.column(name), ABSENT)
            for name in ("actual_is_own", "is_deleted"):
                commits.columns[name][key] = mine.column(name).to_numpy()
            is_tagged = pc.equal(mine.column("actual_metadata").fill_null(""), OWN_TAG).to_numpy()
            is_untagged = commits.columns["actual_is_own"][key] & ~is_tagged
            commits.columns["own_offset"][key] = np.where(is_untagged, commits.columns["actual_offset"][key], NOTHING)
            for name, texts in (("metadata", commits.metadata), ("topic_id", commits.topic_id)):
                values = zip(key.tolist(), mine.column(name).to_pylist(), strict=True)
                for place, text in values:
                    keep_text(texts, place, text)


def follow_commits(tables: Tables, state: SyncState, known: int, lives: CommitLogLives) -> int:
    """Take in what was appended after the version *known* of offset_commits; return the version that *state* is at.

    For whoever only reads the tables. What is read twice changes nothing.
    """
    version = tables.version(OFFSET_COMMITS, known)
    if version == known:
        return known
    take_in_added(tables, state, tables.rows_since(OFFSET_COMMITS, known, version), lives)
    return version


def take_in_added(tables: Tables, state: SyncState, rows: pa.Table, lives: CommitLogLives) -> None:
    """Take in *rows* that were appended to offset_commits since, in any order; what was known changes nothing.

    All is restored of a cluster of which something has come late, as what is replayed from quarantine does: it may have
    been a rewind, or the group's newest word.
    """
    lives.refresh()  # after the rows were read: a life is written before the rows of it
    rows = _standing(rows, lives).sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    if begun := [each for each in state.offsets.clusters if lives.is_new(each) or _has_late(rows, each, state)]:
        restore_commits(tables, state, lives, begun)
    for alias, commits in state.offsets.clusters.items():
        mine = rows.filter(pc.equal(rows.column("cluster"), alias))
        with state.lock:
            commits.record_told(to_commit_records(mine, ids_of(state, mine)), mine.column("is_own").to_numpy())


def _has_late(rows: pa.Table, alias: str, state: SyncState) -> bool:
    """Return whether any of *rows* that is of the cluster *alias* lies before what is known of its key there."""
    mine = rows.filter(pc.equal(rows.column("cluster"), alias))
    with state.lock:
        key = ids_of(state, mine)  # which may make room for more
        known = state.offsets.clusters[alias].columns["log_offset"][key]
    return bool((mine.column("log_offset").to_numpy() < known).any())


def restore_missed(
    tables: Tables,
    state: SyncState,
    alias: str,
    since: Mapping[int, int],
    until: Mapping[int, int],
    lives: CommitLogLives,
) -> KeyRows:
    """Take in what another driver has read of the cluster *alias*; return the rows of the keys.

    It has read from the offsets *since* up to *until*, by partition of the cluster's log of commits; one that is not in
    *since* from its beginning. Not by way of the table's versions: most of what was appended lately is our own. Where
    the log has begun another life, offsets say nothing: all that is known of the cluster is restored.
    """
    lives.refresh()
    if lives.is_new(alias):
        restore_commits(tables, state, lives, [alias])
        return state.all_rows()
    below = {partition: since.get(partition, 0) for partition, end in until.items() if end > since.get(partition, 0)}
    if not below:
        return np.empty(0, np.intp)
    missed = [OFFSET_COMMITS.arrow_schema.empty_table(), *_from_places(tables, alias, below)]
    rows = _standing(pa.concat_tables(missed), lives)
    rows = rows.sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    with state.lock:
        key = ids_of(state, rows)
        state.offsets.clusters[alias].record_told(to_commit_records(rows, key), rows.column("is_own").to_numpy())
    return np.unique(key)


def _from_places(tables: Tables, alias: str, first: Mapping[int, int]) -> Iterator[pa.Table]:
    """Yield the commits of a cluster that stand at or above the *first* offset of each partition of its log."""
    for rows in tables.batches(OFFSET_COMMITS, at_least=("log_offset", min(first.values()))):
        partition, offset = (rows.column(name).to_numpy() for name in ("log_partition", "log_offset"))
        is_wanted = np.zeros(rows.num_rows, np.bool_)
        for number, least in first.items():
            is_wanted |= (partition == number) & (offset >= least)
        yield rows.filter(pc.and_(pc.equal(rows.column("cluster"), alias), pa.array(is_wanted)))


def _standing(rows: pa.Table, lives: CommitLogLives) -> pa.Table:
    return rows.filter(pa.array(lives.gone_ms(rows) == ABSENT))


def to_commit_records(rows: pa.Table, key: KeyRows) -> CommitRecords:
    """Return rows of offset_commits as the records that they were."""
    return CommitRecords(
        key=key,
        offset=int64s(rows.column("committed_offset"), ABSENT),
        is_tombstone=rows.column("is_tombstone").to_numpy(),
        committed_at_ms=rows.column("committed_at").cast(pa.int64()).to_numpy() // 1000,
        log_offset=rows.column("log_offset").to_numpy(),
        metadata=[text or "" for text in rows.column("metadata").to_pylist()],
        topic_id=rows.column("topic_id").to_pylist(),
        leader_epoch=int64s(rows.column("leader_epoch"), ABSENT),
    )


def ids_of(state: SyncState, rows: pa.Table) -> KeyRows:
    """Return the row of each row's key, which gets one where it was not met before."""
    return state.offsets.ids(_keys_of(rows))


def _keys_of(rows: pa.Table) -> list[GroupPartition]:
    return [GroupPartition(*key) for key in zip(*(rows.column(name).to_pylist() for name in KEY), strict=True)]
