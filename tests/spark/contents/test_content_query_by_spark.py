"""Fingerprints are of all that a copy has of its original, and of nothing else; however the records were read."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync_contents.content_query import ContentRows, with_fingerprints
from offset_sync_contents.rows import FINGERPRINT

SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
ALL = ("timestamps", "headers")
AT = datetime.fromtimestamp(1_795_000_000, timezone.utc)
Headers = list[tuple[str, bytes | None]] | None
Record = tuple[datetime, bytes | None, bytes | None, Headers]
DIFFERENT: list[Record] = [
    (AT, b"k", b"v", None),
    (AT.replace(microsecond=1_000), b"k", b"v", None),
    (AT, b"v", b"k", None),
    (AT, None, b"v", None),
    (AT, b"v", None, None),
    (AT, b"", b"v", None),
    (AT, None, None, None),
    (AT, b"kv", None, None),
    (AT, b"kv", b"", None),
    (AT, b"k", b"v", [("a", b"b")]),
    (AT, b"k", b"v", [("a", None)]),
    (AT, b"k", b"v", [("a", b"")]),
    (AT, b"k", b"v", [("a", b"b"), ("c", None)]),
    (AT, b"k", b"v", [("a", None), ("b", b"c")]),
    (AT, b"k", b"v", [("a", b"b"), ("c", b"d")]),
    (AT, b"k", b"v", [("c", b"d"), ("a", b"b")]),
    (AT, b"k", b"v", [("a", b"b"), ("a", b"b")]),
]


def fingerprints(spark: SparkSession, records: list[Record], keeps: tuple[str, ...] = ALL) -> list[int]:
    rows: list[Any] = [("orders", 3, number, *record) for number, record in enumerate(records)]
    found = with_fingerprints(spark.createDataFrame(rows, SCHEMA), keeps).orderBy("offset").toArrow()
    assert found.column_names == ["topic", "partition", "offset", FINGERPRINT]
    return list(found.column(FINGERPRINT).to_pylist())


def test_records_that_differ_in_anything_have_different_fingerprints(spark: SparkSession) -> None:
    found = fingerprints(spark, DIFFERENT)
    assert len(set(found)) == len(DIFFERENT)
    assert fingerprints(spark, DIFFERENT) == found
    assert None not in found


def test_fingerprints_stay_what_they_are_in_tables_that_were_written_before(spark: SparkSession) -> None:
    before = [705130003662817190, -5071237472087414959, -1418910917241478604]
    assert fingerprints(spark, [DIFFERENT[number] for number in (0, 12, 13)]) == before


@pytest.mark.parametrize(
    ("keeps", "alike"),
    [
        (("headers",), DIFFERENT[:2]),
        (("timestamps",), [DIFFERENT[0], *DIFFERENT[9:]]),
        ((), [*DIFFERENT[:2], *DIFFERENT[9:]]),
    ],
)
def test_what_a_copy_does_not_keep_makes_no_difference(
    spark: SparkSession, keeps: tuple[str, ...], alike: list[Record]
) -> None:
    assert len(set(fingerprints(spark, alike, keeps))) == 1
    assert len(set(fingerprints(spark, DIFFERENT, keeps))) == len(DIFFERENT) - len(alike) + 1


def test_what_is_read_without_sparks_source_has_the_same_fingerprints(spark: SparkSession) -> None:
    records = [
        RecordContent(number, round(at.timestamp() * 1000), key, value, tuple(headers or ()))
        for number, (at, key, value, headers) in enumerate(DIFFERENT)
    ]
    found = ContentRows(spark, ALL)([(TopicPartition("orders", 3), each) for each in records])
    assert found.column("offset").to_pylist() == list(range(len(DIFFERENT)))
    assert found.column(FINGERPRINT).to_pylist() == fingerprints(spark, DIFFERENT)


def test_headers_that_mirrors_add_make_no_difference(spark: SparkSession) -> None:
    added = ("__mskmr", b"any")
    with_them: list[Record] = [(*record[:3], [added, *(record[3] or []), added]) for record in DIFFERENT]
    assert fingerprints(spark, with_them) == fingerprints(spark, DIFFERENT)
    records = [RecordContent(0, round(AT.timestamp() * 1000), b"k", b"v", (added,))]
    found = ContentRows(spark, ALL)([(TopicPartition("orders", 3), each) for each in records])
    assert found.column(FINGERPRINT).to_pylist() == fingerprints(spark, DIFFERENT[:1])
    others: list[Record] = [(AT, b"k", b"v", [(name, b"any")]) for name in ("__mskmr2", "_mskmr", "k2k")]
    assert len({*fingerprints(spark, [*others, DIFFERENT[0]])}) == 4
