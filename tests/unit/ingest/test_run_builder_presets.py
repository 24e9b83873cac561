"""Runs of records as other mirrors copy them: with the headers that these write, or byte for byte."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config import Config, parse_config
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.jobs.index_records import builder_of
from offset_sync.model.values import RecordContent, TopicPartition

ORDERS = TopicPartition("orders", 0)
ENDS = {"kafka": {"bootstrap.servers": "x:1"}}
Headers = tuple[tuple[str, bytes], ...]
Run = tuple[int, int, str | None, int | None]


def config_of(**mirror: Any) -> Config:
    return parse_config({"clusters": {"X": ENDS, "Y": ENDS}, "mirror": mirror, "topics": {"include": ["orders"]}}, {})


def runs_at(config: Config, alias: str, *records: Headers) -> tuple[list[Run], list[str]]:
    """Return the runs of records of orders-0 from offset 0 on, and why some are malformed."""
    builder = builder_of(config, alias)
    rows = MirroredRecords(config.mirror)(
        [(ORDERS, RecordContent(offset, 1, None, b"v", each)) for offset, each in enumerate(records)]
    )
    found = pa.Table.from_batches(pickle.loads(pickle.dumps(builder))([rows])).to_pylist()
    runs = [(r["start_offset"], r["length"], r["origin"], r["origin_start"]) for r in found if r["error"] is None]
    return runs, [row["error"] for row in found if row["error"] is not None]


def of_redpanda(origin: str, offset: int) -> Headers:
    return (
        ("redpanda-migrator-provenance", origin.encode()),
        ("redpanda-migrator-offset", offset.to_bytes(8, "big")),
    )


def test_copies_of_redpanda_migrator_have_the_alias_of_the_cluster_with_that_id() -> None:
    config = config_of(preset="redpanda-migrator").with_ids({"X": "id-X", "Y": "id-Y"})
    copies = [of_redpanda("id-X", 70), of_redpanda("id-X", 71), (), of_redpanda("id-X", 72)]
    assert runs_at(config, "Y", *copies) == ([(0, 2, "X", 70), (2, 1, "Y", 2), (3, 1, "X", 72)], [])


@pytest.mark.parametrize("origin", ["id-Z", "id-Y", "X", "Y"])
def test_a_copy_of_another_hop_is_unread(origin: str) -> None:
    config = config_of(preset="redpanda-migrator").with_ids({"X": "id-X", "Y": "id-Y"})
    runs, errors = runs_at(config, "Y", of_redpanda("id-X", 70), of_redpanda(origin, 0), of_redpanda("id-X", 71))
    assert runs == [(0, 1, "X", 70), (1, 1, "", 1), (2, 1, "X", 71)]
    assert errors == [f"origin header {origin!r} is of no cluster that is mirrored to this one"]


def test_a_cluster_may_be_an_origin_though_no_header_names_it() -> None:
    config = config_of(preset="redpanda-migrator").with_ids({"X": "id-X"})
    assert builder_of(config, "X").aliases == builder_of(config, "Y").aliases == {"X", "Y"}
    assert RunBuilder(StreamIdentities("X", {"IDC-Y": "Y"}, "text"), str.isupper).aliases == {"X", "Y"}


def test_of_copies_byte_for_byte_the_headers_say_nothing_and_each_record_is_that_at_the_same_offset() -> None:
    topics = {"include": ["orders"], "strategy": "identity", "origin": "X"}
    config = parse_config({"clusters": {"X": ENDS, "Y": ENDS}, "topics": topics}, {})
    stamped: Headers = (("IDC", b"Z"), ("Offset", b"70"))
    unreadable: Headers = (("IDC", b"Z"), ("Offset", b"x"))
    for alias in ("X", "Y"):
        assert runs_at(config, alias, (), stamped, unreadable) == ([(0, 3, "X", 0)], [])
