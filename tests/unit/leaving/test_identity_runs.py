"""Runs of copies byte for byte: headers say nothing, and each record is that at the same offset."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config import parse_config
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.jobs.index_records import builder_of
from offset_sync.model.values import RecordContent, TopicPartition

ENDS: dict[str, Any] = {"kafka": {"bootstrap.servers": "x:1"}}


@pytest.mark.parametrize(
    ("alias", "topic", "mm2", "stream", "home"),
    [
        ("X", "orders", True, "X.orders", "X"),
        ("Y", "X.orders", True, "X.orders", "X"),
        ("Y", "bills", True, "Y.bills", "Y"),
        ("X", "orders", False, "orders", "X"),
        ("Y", "orders", False, "orders", "X"),
    ],
)
def test_each_record_is_that_at_the_same_offset_of_the_home(
    alias: str, topic: str, mm2: bool, stream: str, home: str
) -> None:
    topics: dict[str, Any] = {"include": [".*"], "strategy": "identity"} | ({} if mm2 else {"origin": "X"})
    tree = {"clusters": {"X": ENDS, "Y": ENDS}, "topics": topics, "mirror": {"names": "mm2" if mm2 else "same"}}
    config = parse_config(tree, {})
    headers = ((), (("IDC", b"Y"), ("Offset", b"70")), (("IDC", b"Z"), ("Offset", b"x")))
    records = [
        (TopicPartition(topic, 3), RecordContent(offset, 1, None, b"v", each)) for offset, each in enumerate(headers)
    ]
    (row,) = pa.Table.from_batches(builder_of(config, alias)([MirroredRecords(config.mirror)(records)])).to_pylist()
    found = [row[name] for name in ("topic", "start_offset", "length", "origin", "origin_start")]
    assert found == [stream, 0, 3, home, 0]
