"""What becomes of a record's headers before they reach Python."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from offset_sync.config import Mirror
from offset_sync.ingest.kafka_source import with_mirror_headers

SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, value binary, "
    "headers array<struct<key: string, value: binary>>"
)


def headers_of(spark: SparkSession, headers: list[tuple[str, bytes | None]] | None, **mirror: str) -> Row:
    record = [("orders", 3, 7, None, b"value", headers)]
    row = with_mirror_headers(spark.createDataFrame(record, SCHEMA), Mirror(**mirror)).head()  # type: ignore[arg-type]
    assert row is not None
    assert (row["topic"], row["partition"], row["offset"]) == ("orders", 3, 7)
    return row


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        (None, (None, None)),
        ([], (None, None)),
        ([("other", b"x")], (None, None)),
        ([("Offset", b"5"), ("other", b"x"), ("IDC", b"dc2")], (b"dc2", b"5")),
        ([("IDC", b"dc2")], (b"dc2", None)),
        ([("IDC", None), ("Offset", b"5")], (None, b"5")),
        ([("IDC", b"dc2"), ("IDC", b"dc3"), ("Offset", b"5"), ("Offset", b"6")], (b"dc3", b"6")),
        ([("IDC", b"dc2"), ("Offset", b"5"), ("IDC", None), ("Offset", None)], (None, None)),
        ([("IDC", None), ("Offset", b""), ("IDC", b"dc2"), ("other", None)], (b"dc2", b"")),
        ([("idc", b"dc2"), ("Offset ", b"5"), ("", b"6")], (None, None)),
    ],
)
def test_the_two_headers_are_picked_and_of_equal_keys_the_last(
    spark: SparkSession, headers: list[tuple[str, bytes | None]] | None, wanted: tuple[Any, Any]
) -> None:
    row = headers_of(spark, headers)
    assert (row["origin_header"], row["offset_header"]) == wanted
    assert "value" not in row


def test_a_header_longer_than_any_valid_one_is_cut_and_stays_too_long(spark: SparkSession) -> None:
    row = headers_of(spark, [("IDC", b"o" * 5000), ("Offset", b"1" * 5000)])
    assert (len(row["origin_header"]), len(row["offset_header"])) == (1024, 1024)
