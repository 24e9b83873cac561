"""The commits that the last driver has seen, from the tables; for what it answered see ``restore_answers.py``.

The tables know what a dead cluster's ``__consumer_offsets`` can no longer tell. What was in hand when the last driver
died is missing; the streams bring it again, and the reconcile pass looks at every target anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import OWN_TAG, CommitRecords, keep_text
from offset_sync.state.key_index import KeyRows
from offset_sync.state.own_writes import NOTHING
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.store import TableStore

KEY = ["group_id", "topic", "partition"]
_TIMES = ("actual_at_ms", "genuine_at_ms", "rewound_at_ms")


def restore_commits(
    tables: TableStore, state: SyncState, lives: CommitLogLives, only: Collection[str] | None = None
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
    commits_read = lives.with_places(tables.read(OFFSET_COMMITS))
    rows = _last_commits(commits_read.where(F.col("cluster").isin(*clusters))).toArrow()
    if only is not None and (fresh := state.offsets.unknown(_keys_of(rows))):
        # Keys that were over: what others have said of them was dropped, and decides with what is back.
        said = _last_commits(commits_read.where(~F.col("cluster").isin(*clusters))).toArrow()
        fresh_said = said.filter(pa.array([key in fresh for key in _keys_of(said)], pa.bool_()))
        fill_commits(state, fresh_said, state.offsets.clusters.keys() - set(only))
    fill_commits(state, rows, clusters, is_all=True)
    for alias in clusters:
        lives.take(alias)
    return newest_captured(rows)


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
            for name in ("log_offset", "actual_offset", "genuine_offset", "genuine_epoch", *_TIMES):
                commits.columns[name][key] = mine.column(name).cast(pa.int64()).fill_null(-1).to_numpy()
            for name in ("actual_is_own", "is_deleted"):
                commits.columns[name][key] = mine.column(name).to_numpy()
            is_tagged = pc.equal(mine.column("actual_metadata").fill_null(""), OWN_TAG).to_numpy()
            is_untagged = commits.columns["actual_is_own"][key] & ~is_tagged
            commits.columns["own_offset"][key] = np.where(is_untagged, commits.columns["actual_offset"][key], NOTHING)
            for name, texts in (("metadata", commits.metadata), ("topic_id", commits.topic_id)):
                values = zip(key.tolist(), mine.column(name).to_pylist(), strict=True)
                for place, text in values:
                    keep_text(texts, place, text)


def follow_commits(tables: TableStore, state: SyncState, known: int, lives: CommitLogLives) -> int:
    """Take in what was appended after the version *known* of offset_commits; return the version that *state* is at.

    For whoever only reads the tables. What is read twice changes nothing.
    """
    version = tables.version(OFFSET_COMMITS, known)
    if version == known:
        return known
    take_in_added(tables, state, tables.rows_since(OFFSET_COMMITS, known, version), lives)
    return version


def take_in_added(tables: TableStore, state: SyncState, rows: pa.Table, lives: CommitLogLives) -> None:
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
    tables: TableStore,
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
    below = [
        (F.col("log_partition") == partition) & (F.col("log_offset") >= since.get(partition, 0))
        for partition, end in until.items()
        if end > since.get(partition, 0)
    ]
    if not below:
        return np.empty(0, np.intp)
    missed = tables.read(OFFSET_COMMITS).where((F.col("cluster") == alias) & reduce(or_, below))
    rows = _standing(missed.toArrow(), lives).sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
    with state.lock:
        key = ids_of(state, rows)
        state.offsets.clusters[alias].record_told(to_commit_records(rows, key), rows.column("is_own").to_numpy())
    return np.unique(key)


def _standing(rows: pa.Table, lives: CommitLogLives) -> pa.Table:
    return rows.filter(pa.array(lives.gone_ms(rows) == ABSENT))


def to_commit_records(rows: pa.Table, key: KeyRows) -> CommitRecords:
    """Return rows of offset_commits as the records that they were."""
    return CommitRecords(
        key=key,
        offset=rows.column("committed_offset").fill_null(-1).to_numpy(),
        is_tombstone=rows.column("is_tombstone").to_numpy(),
        committed_at_ms=rows.column("committed_at").cast(pa.int64()).to_numpy() // 1000,
        log_offset=rows.column("log_offset").to_numpy(),
        metadata=[text or "" for text in rows.column("metadata").to_pylist()],
        topic_id=rows.column("topic_id").to_pylist(),
        leader_epoch=rows.column("leader_epoch").cast(pa.int64()).fill_null(ABSENT).to_numpy(),
    )


def _last_commits(commits: DataFrame) -> DataFrame:
    """Reduce the history to one row per cluster and key; a commit below the one before it is a rewind.

    A key of which nothing stands has no position since that was noticed. A tombstone that stands again, since what came
    after it is gone, is not taken for a deletion: nobody has deleted what the group has said since.
    """
    is_position = ~F.col("is_tombstone") & (F.col("committed_offset") >= 0)
    genuine = F.when(is_position & ~F.col("is_own"), F.col("committed_offset"))
    in_log_order = Window.partitionBy("cluster", *KEY).orderBy("place")
    before = F.last(genuine, ignorenulls=True).over(in_log_order.rowsBetween(Window.unboundedPreceding, -1))
    place, stands = F.col("place"), F.col("gone_ms").isNull()
    genuine_place = F.when(genuine.isNotNull(), place)
    at_ms = F.unix_millis("committed_at")
    marked = commits.withColumn("genuine", genuine).withColumn("went_back_at", F.when(genuine < before, at_ms))
    return marked.groupBy("cluster", *KEY).agg(
        F.max_by(F.when(stands, F.col("log_offset")), place).alias("log_offset"),
        F.max_by(F.when(is_position & stands, F.col("committed_offset")), place).alias("actual_offset"),
        F.max_by(F.coalesce("gone_ms", at_ms), place).alias("actual_at_ms"),
        F.max_by(F.col("is_own") & stands, place).alias("actual_is_own"),
        F.max_by("metadata", place).alias("actual_metadata"),
        (F.max_by("is_tombstone", place) & F.max_by("is_tombstone", "newest")).alias("is_deleted"),
        F.max_by("committed_offset", genuine_place).alias("genuine_offset"),
        F.max_by(at_ms, genuine_place).alias("genuine_at_ms"),
        F.max("went_back_at").alias("rewound_at_ms"),
        F.max_by(F.coalesce("leader_epoch", F.lit(ABSENT)), genuine_place).alias("genuine_epoch"),
        F.max_by("metadata", genuine_place).alias("metadata"),
        F.max_by("topic_id", genuine_place).alias("topic_id"),
        F.unix_millis(F.max("captured_at")).alias("captured_ms"),
    )


def ids_of(state: SyncState, rows: pa.Table) -> KeyRows:
    """Return the row of each row's key, which gets one where it was not met before."""
    return state.offsets.ids(_keys_of(rows))


def _keys_of(rows: pa.Table) -> list[GroupPartition]:
    return [GroupPartition(*key) for key in zip(*(rows.column(name).to_pylist() for name in KEY), strict=True)]
