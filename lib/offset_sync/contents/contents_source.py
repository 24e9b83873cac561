"""Records with a hash of all that a copy has of its original, made where Spark reads them.

``xxhash64`` of Spark is made in the JVM while the bytes are in the cache, at gigabytes a second. It mixes each value
into what the ones before have left, so the order counts. 64 bits are enough: a copy is looked up among those originals
that the mirror may send, and among a million one of other contents has its hash with 5 in 10^14. It is no hash against
whoever wants two records to look alike: who may write to a topic may harm those who read it anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.contents.fingerprint_builder import FINGERPRINT
from offset_sync.ingest.second_reader import content_rows
from offset_sync.kafka.range_reader import Chunk

UNCOMMITTED: Mapping[str, str] = {"kafka.isolation.level": "read_uncommitted"}
"""How originals are read: most mirrors copy records of transactions that are open, or come to nothing.

Copies are read as consumers do: one that was aborted is none.
"""
RAW_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def with_fingerprints(records: DataFrame, keeps: Collection[str]) -> DataFrame:
    """Return the place of each record, and the hash of what a copy has of it: ``mirror.keeps``, key and value."""
    return records.select("topic", "partition", "offset", _fingerprint(keeps).alias(FINGERPRINT))


def _fingerprint(keeps: Collection[str]) -> Column:
    """Return the hash. It skips what is null, so that is said apart: else (null, x) looked like (x, null)."""
    parts: list[Column] = []
    if "timestamps" in keeps:
        parts.append(F.col("timestamp"))
    parts += [F.isnull("key"), F.col("key"), F.isnull("value"), F.col("value")]
    if "headers" in keeps:
        # No headers are null to Spark, and an empty list to others: the hash of both is that of nothing.
        are_null = F.transform(F.col("headers"), lambda header: F.isnull(header["value"]))
        parts += [F.col("headers"), F.when(F.isnotnull("headers"), are_null)]
    return F.xxhash64(*parts)


class ContentRows:
    """Makes the columns of :func:`with_fingerprints` of what was read without Spark's source, by Spark all the same."""

    def __init__(self, spark: SparkSession, keeps: Collection[str]) -> None:
        self._spark, self._keeps = spark, keeps

    def __call__(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the records of *chunk*, each log in its order."""
        raw = pa.Table.from_batches([content_rows(chunk)]).select(RAW_SCHEMA.names).cast(RAW_SCHEMA)
        hashed = with_fingerprints(self._spark.createDataFrame(raw).coalesce(1), self._keeps).toArrow()
        return hashed.combine_chunks().to_batches()[0]
