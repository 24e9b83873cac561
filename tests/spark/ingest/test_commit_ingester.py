"""Bytes captured from a broker through Spark and Delta; what else has to hold is in tests/unit/test_ingesting.py."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from chispa import assert_df_equality
from pyspark.sql import SparkSession

from fakes.clusters import MemoryIndex
from fakes.commit_rows import CommitRowsInMemory
from fakes.ingest import NO_ROWS
from fakes.reconciler_site import config_of
from fakes.unchecked import UNCHECKED
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.values import TopicPartition
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.store import TableStore
from oracles.decode import decode_record

GOLDEN = Path(__file__).parents[2] / "golden"
WRITTEN_US = 1_800_000_000_000_000


def golden() -> list[tuple[bytes, bytes | None]]:
    files = [
        json.loads((GOLDEN / name).read_text())["records"] for name in ("worked-examples.json", "captured-4.3.0.json")
    ]
    records = [record for file in files for record in file]
    return [(bytes.fromhex(r["key"]), None if r["value"] is None else bytes.fromhex(r["value"])) for r in records]


class Query:
    def query_id(self) -> str:
        return "query"

    def record_limit(self, batch_id: int) -> int:
        return 1000

    def start_offsets(self, batch_id: int) -> dict[TopicPartition, int]:
        return {}

    end_offsets = start_offsets


def test_captured_records_and_broken_ones_reach_the_tables_once_and_the_rest_goes_on(
    spark: SparkSession, tables: TableStore
) -> None:
    whole = golden()
    broken: list[tuple[bytes | None, bytes | None]] = [(key, value[:-1]) for key, value in whole if value]
    rows = [
        {"key": key, "value": value, "partition": 1, "offset": offset, "timestamp": WRITTEN_US}
        for offset, (key, value) in enumerate([*whole, *broken, (None, b"v")])
    ]
    read = CommitRowsInMemory()
    read.put(rows)
    expected = [decode_record(row["key"], row["value"]) for row in rows]  # type: ignore[arg-type]
    config, checkpoint, reconciled = config_of(["X", "Y"]), Query(), list[int]()
    state, is_ready = SyncState(config, MemoryIndex()), threading.Event()
    is_ready.set()

    class Reconciled:
        def reconcile_batch(self, source: str, rows: Any, batch_id: int) -> list[str]:
            reconciled.append(len(rows))
            return []

    for _restart in range(2):
        ingester = CommitIngester("X", tables, checkpoint, read, 1, Reading(UNCHECKED))  # type: ignore[arg-type]
        SyncBatch(ingester, state, Reconciled(), SyncMetrics(config), is_ready)(NO_ROWS, 0)

    commits = [(n, each) for n, each in enumerate(expected) if each.kind == "commit"]
    assert reconciled == [len(commits)] * 2
    columns = "log_offset bigint, group_id string, topic string, partition int, committed_offset bigint, "
    columns += "leader_epoch int, metadata string, topic_id string, is_tombstone boolean"
    names = [column.split()[0] for column in columns.split(", ")][1:]
    found = spark.read.format("delta").load(tables.path(OFFSET_COMMITS)).select("log_offset", *names)
    said = [(n, *(getattr(each, name) for name in names)) for n, each in commits]
    assert_df_equality(
        found, spark.createDataFrame(said, columns), ignore_row_order=True, ignore_nullable=True, ignore_metadata=True
    )

    malformed = tables.all_rows(QUARANTINE).to_pylist()
    assert {row["offset"]: row["error"] for row in malformed} == {
        n: each.error for n, each in enumerate(expected) if each.kind == "malformed"
    }
    assert len(malformed) >= len(broken) / 2
    kinds = [each.kind for each in expected]
    events = tables.all_rows(GROUP_EVENTS).num_rows
    assert events == sum(kinds.count(kind) for kind in ("group", "group_epoch", "member"))
