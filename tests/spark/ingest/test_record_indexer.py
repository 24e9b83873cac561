"""A micro-batch of headers through Spark and Delta; what has to hold besides is in tests/unit/test_indexing.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.unchecked import ONLY_SPARK
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import QUARANTINE, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

ROWS = [
    (5, 1_000_000, b"IDC-X", b"70"),
    (6, 2_500_000, b"IDC-X", b"71"),
    (7, 3_000_000, None, None),
    (8, 4_000_000, b"IDC-X", b"-1"),
]


def check_of(tables: TableStore, cluster: ClusterMetadata) -> LogCheck:
    """Return the check of Y's logs, which *cluster* says everything about."""
    own, others = SimpleNamespace(fetch_each=lambda wanted: {"Y": cluster}), MetadataFetcher({})
    asked = Asked(own, others, lambda ranges: pytest.fail("nothing has to be read again"))
    incarnations = IncarnationCheck(tables, {}, lambda: highest_indexed(tables), late_ms=60_000)
    return LogCheck("Y", asked, OriginCheck("Y", ["Y"]), incarnations)


def test_a_micro_batch_is_indexed_exactly_once_however_often_it_is_repeated(
    spark: SparkSession, tables: TableStore, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoint"
    for name, content in {
        "metadata": '{"id":"a-query"}',
        "sources/0/0": '\0v1\n{"orders":{"0":5}}',
        "offsets/0": 'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":11}}',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    columns = {"topic": ["orders"] * 4, "partition": [0] * 4}
    columns |= dict(zip(MIRRORED_RECORDS.names[2:], zip(*ROWS)))
    records = spark.createDataFrame(pa.table(columns, MIRRORED_RECORDS)).coalesce(1)
    for _restart in range(2):
        cutter = RunBuilder(StreamIdentities("Y", {"IDC-X": "X", "IDC-Y": "Y"}, "text"), str.isupper)
        checkpoint = Checkpoint(Files(), str(folder))
        cluster = ClusterMetadata({"orders": MemoryTopic("id")}, {TopicPartition("orders", 0): MemoryEnds(0, 11)})
        topics = SimpleNamespace(describe=lambda topics: {each: MemoryTopic("id") for each in topics})
        checks = Checks(topics, check_of(tables, cluster), ONLY_SPARK)
        RecordIndexer(tables, checkpoint, cutter, checks, IndexProgress())(records, 0)
    expected = spark.createDataFrame(
        [
            ("Y", 5, 0, "Y", -1, None, None),
            ("Y", 5, 2, "X", 70, 1000, 2500),
            ("Y", 7, 1, "Y", 7, 3000, 3000),
            ("Y", 8, 1, "", 8, 4000, 4000),
            ("Y", 11, 0, "Y", 11, None, None),
        ],
        "cluster string, start_offset bigint, length bigint, origin string, origin_start bigint, "
        "first bigint, last bigint",
    )
    times = [f"unix_millis({side}_timestamp) AS {name}" for side, name in (("min", "first"), ("max", "last"))]
    found = spark.read.format("delta").load(tables.path(RECORD_RUNS)).selectExpr(*expected.columns[:-2], *times)
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True, ignore_metadata=True)
    (kept,) = tables.all_rows(QUARANTINE).select(["offset", "key", "value"]).to_pylist()
    assert [*kept.values()] == [8, b"IDC-X", b"-1"]
