"""What becomes of a record's headers before they reach Python."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from offset_sync.config import Mirror
from offset_sync.ingest.kafka_source import MirroredRecords, with_mirror_headers
from offset_sync.model.values import RecordContent, TopicPartition

Headers = list[tuple[str, bytes | None]]
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, value binary, "
    "headers array<struct<key: string, value: binary>>"
)


def headers_of(spark: SparkSession, headers: Headers | None) -> tuple[bytes | None, bytes | None]:
    """Return both headers as Spark finds them, and as the reader of what Spark fails on."""
    record = [("orders", 3, 7, None, b"value", headers)]
    row = with_mirror_headers(spark.createDataFrame(record, SCHEMA), Mirror()).head()
    assert row is not None
    assert (row["topic"], row["partition"], row["offset"]) == ("orders", 3, 7)
    content = RecordContent(7, 0, None, b"value", tuple(headers or ()))
    (own,) = MirroredRecords(Mirror())([(TopicPartition("orders", 3), content)]).to_pylist()
    found = (row["origin_header"], row["offset_header"])
    assert found == (own["origin_header"], own["offset_header"])
    return found


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
    spark: SparkSession, headers: Headers | None, wanted: tuple[Any, Any]
) -> None:
    assert headers_of(spark, headers) == wanted


def test_a_header_longer_than_any_valid_one_is_cut_and_stays_too_long(spark: SparkSession) -> None:
    assert [*map(len, headers_of(spark, [("IDC", b"o" * 5000), ("Offset", b"1" * 5000)]))] == [1024, 1024]  # type: ignore[arg-type]
