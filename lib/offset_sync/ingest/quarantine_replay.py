"""Replays commits from quarantine that can be decoded by now into ``offset_commits``.

``quarantine`` is append-only, so a replayed record gets a second row as a mark. It is written after the commits, and a
commit that is in ``offset_commits`` already is not written again: after a kill in between the next start does the rest.
Only one driver at a time may do it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.ingest.commit_batch import DECODED_SCHEMA, CommitBatch, Looked, decode_batches
from offset_sync.ingest.commit_tables import commit_rows, to_rows
from offset_sync.model.values import CONSUMER_OFFSETS, Outcome
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, QUARANTINE
from offset_sync.tables.rows import partners
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
REPLAYED = "replayed: it is in offset_commits now"
"""The ``error`` of the second row."""
_PLACE = ["cluster", "partition", "offset"]
_LOG_PLACE = ["cluster", "log_partition", "log_offset"]
_RECORD = [*_LOG_PLACE, "captured_at"]
"""Other incarnations of the log have other records at the same offset."""


def replay_quarantine(tables: TableStore) -> int:
    """Append to ``offset_commits`` the commits in quarantine that can be decoded by now; return how many.

    Call it before the state is restored, which then includes them; a later commit of the same key stays newer. A commit
    of a value that we never wrote there counts as genuine; errs to genuine.
    """
    if tables.version(QUARANTINE) == 0:
        return 0
    waiting, now = _waiting(tables), datetime.now(timezone.utc)
    by_cluster = {
        alias: _decoded(waiting.filter(pc.equal(waiting.column("cluster"), alias)))
        for alias in pc.unique(waiting.column("cluster")).to_pylist()
    }
    commits = [_rows(tables, alias, decoded, now) for alias, decoded in by_cluster.items() if decoded.num_rows]
    if not commits:
        return 0
    rows = pa.concat_tables(commits)
    missing = _missing(tables, rows)
    tables.append(OFFSET_COMMITS, missing)
    tables.append(QUARANTINE, _marks(rows, now))
    for alias, decoded in by_cluster.items():
        if decoded.num_rows:
            logger.warning("clusters.%s: %d offset commits replayed from quarantine", alias, decoded.num_rows)
    return int(missing.num_rows)


def clusters_waiting(tables: TableStore) -> set[str]:
    """Return the clusters with commits in quarantine that were not replayed, whose offsets are unknown."""
    if tables.version(QUARANTINE) == 0:
        return set()
    return {*_waiting(tables).column("cluster").to_pylist()}


def _waiting(tables: TableStore) -> pa.Table:
    """Return the records of ``__consumer_offsets`` that have not been replayed, each once, as first seen."""
    rows = tables.rows_where(QUARANTINE, {"topic": CONSUMER_OFFSETS})
    is_mark = pc.fill_null(pc.equal(rows.column("error"), REPLAYED), False)
    seen = _grouped(rows.filter(pc.invert(is_mark)), [*_PLACE, "key", "value"], "min")
    marks = _grouped(rows.filter(is_mark), _PLACE, "max")
    partner = partners(seen, marks, _PLACE)
    replayed_at = marks.column("seen_at").combine_chunks().take(pa.array(partner, mask=partner < 0))
    return seen.filter(pc.fill_null(pc.greater(seen.column("seen_at"), replayed_at), True))


def _grouped(rows: pa.Table, by: Sequence[str], of_times: str) -> pa.Table:
    found = rows.group_by(list(by), use_threads=False).aggregate([("seen_at", of_times)])
    return found.rename_columns([*by, "seen_at"])


def _decoded(rows: pa.Table) -> pa.Table:
    """Return the commits among these *rows* of quarantine; their only known time is when they were seen."""
    records = rows.select(["key", "value", "partition", "offset"]).append_column("timestamp", rows.column("seen_at"))
    found = pa.Table.from_batches(list(decode_batches(records.to_batches(max_chunksize=10_000))), DECODED_SCHEMA)
    return found.filter(pc.equal(found.column("kind"), "commit"))


def _rows(tables: TableStore, alias: str, decoded: pa.Table, now: datetime) -> pa.Table:
    rows = commit_rows(alias, CommitBatch(0, Looked(now), decoded, decoded).with_own(_is_own(tables, alias, decoded)))
    # When it was read, not now: the log may have a new incarnation since.
    seen_at = decoded.column("timestamp")
    return rows.set_column(rows.column_names.index("captured_at"), "captured_at", seen_at)


def _is_own(tables: TableStore, alias: str, decoded: pa.Table) -> NDArray[np.bool_]:
    """Return which commits have a value that we have written at the cluster *alias* for their key."""
    key = ["group_id", "topic", "partition"]
    is_own = np.zeros(decoded.num_rows, np.bool_)
    for rows in tables.batches(OFFSET_TRANSLATIONS, [*key, "target_cluster", "target_offset", "outcome"]):
        is_there = pc.and_(
            pc.equal(rows.column("outcome"), Outcome.COMMITTED.name), pc.equal(rows.column("target_cluster"), alias)
        )
        written = rows.filter(pc.fill_null(is_there, False)).select([*key, "target_offset"])
        values = written.rename_columns([*key, "committed_offset"]).group_by([*key, "committed_offset"]).aggregate([])
        is_own |= partners(decoded, values, [*key, "committed_offset"]) >= 0
    return is_own


def _missing(tables: TableStore, rows: pa.Table) -> pa.Table:
    """Return the *rows* that are not in ``offset_commits``; a start that was killed may have appended some."""
    is_there = np.zeros(rows.num_rows, np.bool_)
    for known in tables.batches(OFFSET_COMMITS, _RECORD):
        is_there |= partners(rows, known.group_by(_RECORD).aggregate([]), _RECORD) >= 0
    return rows.filter(pa.array(~is_there))


def _marks(rows: pa.Table, now: datetime) -> pa.Table:
    same = {"topic": CONSUMER_OFFSETS, "key": None, "value": None, "error": REPLAYED, "seen_at": now}
    return to_rows(QUARANTINE, rows, same, dict(zip(_PLACE, _LOG_PLACE, strict=True)))
