"""What becomes of a record's headers before they reach Python."""

from __future__ import annotations

from pyspark.sql import SparkSession

from offset_sync.config import Mirror
from offset_sync.ingest.kafka_source import MirroredRecords, with_mirror_headers
from offset_sync.model.values import RecordContent, TopicPartition

Headers = tuple[tuple[str, bytes | None], ...]
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
CASES: list[tuple[Headers | None, tuple[bytes | None, bytes | None]]] = [
    (None, (None, None)),
    ((("other", b"x"),), (None, None)),
    ((("Offset", b"5"), ("other", b"x"), ("IDC", b"dc2")), (b"dc2", b"5")),
    ((("IDC", None), ("Offset", b"5")), (None, b"5")),
    # Of equal keys the last.
    ((("IDC", b"dc2"), ("IDC", b"dc3"), ("Offset", b"5"), ("Offset", b"6")), (b"dc3", b"6")),
    ((("IDC", b"dc2"), ("Offset", b"5"), ("IDC", None), ("Offset", None)), (None, None)),
    ((("idc", b"dc2"), ("Offset ", b"5"), ("", b"6")), (None, None)),
    # One longer than any valid one is cut, and stays too long.
    ((("IDC", b"o" * 5000), ("Offset", b"1" * 5000)), (b"o" * 1024, b"1" * 1024)),
]


def test_spark_and_the_reader_of_what_spark_fails_on_pick_the_same_two_headers(spark: SparkSession) -> None:
    given = [("orders", 3, n, None, b"value", headers and [*headers]) for n, (headers, _) in enumerate(CASES)]
    rows = with_mirror_headers(spark.createDataFrame(given, SCHEMA), Mirror()).sort("offset").collect()
    log = TopicPartition("orders", 3)
    contents = [(log, RecordContent(n, 0, None, b"value", headers or ())) for n, (headers, _) in enumerate(CASES)]
    wanted = [("orders", 3, n, *found) for n, (_, found) in enumerate(CASES)]
    names = ("topic", "partition", "offset", "origin_header", "offset_header")
    for found in (rows, MirroredRecords(Mirror())(contents).to_pylist()):
        assert [tuple(row[name] for name in names) for row in found] == wanted
