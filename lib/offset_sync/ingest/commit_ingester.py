"""Micro-batches of ``__consumer_offsets``: decode, remember, settle, and write down what was seen."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from offset_sync.ingest import failpoints
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.decode_commits import DECODED_SCHEMA, decode_batches
from offset_sync.ingest.kafka_source import CONSUMER_OFFSETS
from offset_sync.ingest.map_batches import map_batches
from offset_sync.state.committed_offsets import CommitRecords, CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, the last that every reader of the tables knows."""
SettleBatch = Callable[[KeyRows, int], "list[str]"]
"""Settles the keys that were committed in a micro-batch; one line per failure."""


class CommitIngester:
    """Takes in the micro-batches of one cluster's query.

    Until *is_ready* is set commits are only remembered: whose commit counts is not known before every cluster's log
    has been read. *lock* guards *book*. *on_records* is told how many records of which kind a micro-batch has brought,
    once its history is written: genuine, own, malformed (put in quarantine).
    """

    def __init__(
        self,
        alias: str,
        tables: TableStore,
        checkpoint: Checkpoint,
        book: CommittedOffsets,
        lock: threading.RLock,
        settle: SettleBatch,
        is_ready: threading.Event,
        on_records: Callable[[str, int], None] = lambda kind, count: None,
    ) -> None:
        self._alias = alias
        self._tables = tables
        self._checkpoint = checkpoint
        self._book = book
        self._lock = lock
        self._settle = settle
        self._is_ready = is_ready
        self._beside = ThreadPoolExecutor(1, thread_name_prefix=f"history {alias}")
        self._on_records = on_records
        self._last_batch: tuple[int, NDArray[np.bool_]] | None = None

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Take in one micro-batch; may be repeated at any point."""
        clusters, at_most = len(self._book.clusters), self._checkpoint.record_limit(batch_id)
        decoded = map_batches(records, decode_batches, DECODED_SCHEMA, clusters, at_most)
        now = datetime.now(timezone.utc)
        commits = _of_kind(decoded, "commit").sort_by([("log_partition", "ascending"), ("log_offset", "ascending")])
        keys, is_own = self._remember(commits, batch_id)
        # Beside the settling, for both mostly wait. The batch ends when both have, and is repeated if one fails.
        history = self._beside.submit(self._write_history, decoded, commits, is_own, now, batch_id)
        try:
            if self._is_ready.is_set():
                for failure in self._settle(keys[~is_own], batch_id):
                    logger.warning("%s", failure)
        finally:
            history.result()
        failpoints.failpoint(failpoints.AFTER_HISTORY)

    def _remember(self, commits: pa.Table, batch_id: int) -> tuple[KeyRows, NDArray[np.bool_]]:
        columns = [commits.column(name).to_pylist() for name in ("group_id", "topic", "partition")]
        records = CommitRecords(
            key=np.empty(0, np.intp),
            offset=_numbers(commits, "committed_offset"),
            is_tombstone=commits.column("is_tombstone").to_numpy(),
            committed_at_ms=_committed_at_ms(commits),
            log_offset=_numbers(commits, "log_offset"),
            metadata=[text or "" for text in commits.column("metadata").to_pylist()],
            topic_id=commits.column("topic_id").to_pylist(),
        )
        with self._lock:
            keys = self._book.ids(list(zip(*columns, strict=True)))
            is_own = self._book.clusters[self._alias].record(records.with_key(keys))
        before, self._last_batch = self._last_batch, (batch_id, is_own)
        if before is not None and before[0] == batch_id and len(before[1]) == len(is_own):
            # It failed and comes again, and the ledger has forgotten what it knew of the first time.
            self._last_batch = before
        return keys, self._last_batch[1]

    def _write_history(
        self, decoded: pa.Table, commits: pa.Table, is_own: NDArray[np.bool_], now: datetime, batch_id: int
    ) -> None:
        writer = (f"sync_offsets-{self._checkpoint.query_id()}", batch_id)
        malformed = _of_kind(decoded, "malformed")
        if malformed.num_rows:
            logger.warning("clusters.%s: %d records put in quarantine", self._alias, malformed.num_rows)
        ignored = pc.sum(_of_kind(decoded, "ignored").column("records")).as_py()
        if ignored:
            logger.info("clusters.%s: %d records of other types ignored", self._alias, ignored)
        added = {"cluster": self._alias, "captured_at": now, "seen_at": now, "topic": CONSUMER_OFFSETS}
        self._append(QUARANTINE, malformed, writer, added, partition="log_partition", offset="log_offset")
        self._append(GROUP_EVENTS, _group_events(decoded), writer, added, at="timestamp")
        history = commits.append_column("is_own", pa.array(is_own))
        history = history.append_column("committed_at", _to_time(pa.array(_committed_at_ms(commits))))
        expires_at_ms = pc.min_element_wise(history.column("expires_at_ms"), _LATEST_MS, skip_nulls=False)
        history = history.append_column("expires_at", _to_time(expires_at_ms))
        self._append(OFFSET_COMMITS, history, writer, {k: v for k, v in added.items() if k != "topic"})
        own = int(is_own.sum())
        for kind, count in (("genuine", len(is_own) - own), ("own", own), ("malformed", malformed.num_rows)):
            self._on_records(kind, count)

    def _append(
        self, table: Table, rows: pa.Table, writer: tuple[str, int], constants: dict[str, object], **renamed: str
    ) -> None:
        columns = {}
        for field in table.arrow_schema:
            if field.name in constants:
                columns[field.name] = pa.repeat(pa.scalar(constants[field.name], field.type), rows.num_rows)
            else:
                columns[field.name] = rows.column(renamed.get(field.name, field.name)).cast(field.type)
        self._tables.append(table, pa.table(columns), writer)


def _of_kind(decoded: pa.Table, kind: str) -> pa.Table:
    return decoded.filter(pc.equal(decoded.column("kind"), kind))


def _group_events(decoded: pa.Table) -> pa.Table:
    """Return the records that say who is active; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"}
    chosen = decoded.filter(pc.is_in(decoded.column("kind"), pa.array(list(names))))
    rows = zip(chosen.column("kind").to_pylist(), chosen.column("is_tombstone").to_pylist(), strict=True)
    kinds = [names[kind] + ("_removed" if is_tombstone else "") for kind, is_tombstone in rows]
    return chosen.set_column(chosen.column_names.index("kind"), "kind", pa.array(kinds, pa.string()))


def _numbers(rows: pa.Table, name: str) -> Int64s:
    """Return a column as int64, -1 where it is null (a tombstone has no offset)."""
    numbers: Int64s = rows.column(name).cast(pa.int64()).fill_null(-1).to_numpy()
    return numbers


def _committed_at_ms(commits: pa.Table) -> Int64s:
    """Return the coordinator's commit time; the time its record was written where there is none, as in a tombstone.

    A client may send any number, and one that no calendar has must not stop the stream.
    """
    written_ms = commits.column("timestamp").cast(pa.int64()).to_numpy() // 1000
    committed_ms = _numbers(commits, "committed_at_ms")
    times: Int64s = np.where((committed_ms < 0) | (committed_ms > _LATEST_MS), written_ms, committed_ms)
    return times


def _to_time(milliseconds: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
