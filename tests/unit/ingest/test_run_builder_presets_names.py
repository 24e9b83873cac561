"""Runs of records as other mirrors copy them, where these rename topics: headers have the names of the origin."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config import Config, parse_config
from offset_sync.decode.mirror_headers import NO_PLACE
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.jobs.index_records import builder_of
from offset_sync.model.values import RecordContent, TopicPartition

ENDS = {"kafka": {"bootstrap.servers": "x:1"}}
Headers = tuple[tuple[str, bytes], ...]
Run = tuple[str, int, int, str | None, int | None]


def config_of(topics: dict[str, Any] | None = None, **mirror: Any) -> Config:
    mirror["names"] = "mm2"
    tree = {"clusters": {"X": ENDS, "Y": ENDS}, "mirror": mirror, "topics": {"include": [".*"], **(topics or {})}}
    return parse_config(tree, {}).with_ids({"X": "id-X", "Y": "id-Y"})


def runs_at(config: Config, alias: str, topic: str, *records: Headers) -> tuple[list[Run], list[str]]:
    """Return the runs of records of partition 3 of what *alias* calls *topic*, and why some are malformed."""
    builder, place = builder_of(config, alias), TopicPartition(topic, 3)
    rows = MirroredRecords(config.mirror)(
        [(place, RecordContent(offset, 1, None, b"v", each)) for offset, each in enumerate(records)]
    )
    found = pa.Table.from_batches(pickle.loads(pickle.dumps(builder))([rows])).to_pylist()
    runs = [
        (r["topic"], r["start_offset"], r["length"], r["origin"], r["origin_start"]) for r in found if not r["error"]
    ]
    return runs, [row["error"] for row in found if row["error"] is not None]


def of_redpanda(origin: str, offset: int, *place: str) -> Headers:
    return (
        ("redpanda-migrator-provenance", origin.encode()),
        ("redpanda-migrator-offset", offset.to_bytes(8, "big")),
        *(("Place", each.encode()) for each in place),
    )


# Redpanda Migrator


def test_copies_of_redpanda_migrator_are_of_the_stream_that_their_name_says() -> None:
    config = config_of(preset="redpanda-migrator")
    copies = [of_redpanda("id-X", 70), of_redpanda("id-X", 71), ()]
    runs = [("X.orders", 0, 2, "X", 70), ("X.orders", 2, 1, "Y", 2)]
    assert runs_at(config, "Y", "X.orders", *copies) == (runs, [])
    # At home nothing is a copy, whatever an application has handed on.
    assert runs_at(config, "X", "orders", *copies, of_redpanda("id-Y", 3)) == ([("X.orders", 0, 4, "X", 0)], [])


@pytest.mark.parametrize("origin", ["id-Z", "id-Y", "X"])
def test_a_copy_of_another_hop_is_unread_under_other_names_too(origin: str) -> None:
    config = config_of(preset="redpanda-migrator")
    runs, errors = runs_at(config, "Y", "X.orders", of_redpanda("id-X", 70), of_redpanda(origin, 0))
    assert runs == [("X.orders", 0, 1, "X", 70), ("X.orders", 1, 1, "", 1)]
    assert errors == [f"origin header {origin!r} is of no cluster that is mirrored to this one"]


def test_redpandas_place_header_has_the_name_at_the_origin() -> None:
    config = config_of(preset="redpanda-migrator", place_header="Place")
    copies = [of_redpanda("id-X", 70, "orders-3"), of_redpanda("id-X", 71, "X.orders-3"), of_redpanda("id-X", 72)]
    runs, errors = runs_at(config, "Y", "X.orders", *copies)
    assert runs == [("X.orders", 0, 1, "X", 70), ("X.orders", 1, 1, "Y", 1), ("X.orders", 2, 1, "", 2)]
    assert errors == [NO_PLACE]
    back = [of_redpanda("id-Y", 5, "bills-3"), of_redpanda("id-X", 6, "bills-3")]
    runs, (error,) = runs_at(config, "X", "Y.bills", *back)
    assert runs == [("Y.bills", 0, 1, "Y", 5), ("Y.bills", 1, 1, "", 1)]
    assert error.startswith("origin header 'id-X' is of no cluster")


# Copies byte for byte


def test_of_copies_byte_for_byte_each_record_is_that_at_the_same_offset_of_the_home() -> None:
    config, stamped = config_of({"strategy": "identity"}), (("IDC", b"id-Y"), ("Offset", b"70"))
    for alias, topic in (("X", "orders"), ("Y", "X.orders")):
        assert runs_at(config, alias, topic, (), stamped) == ([("X.orders", 0, 2, "X", 0)], [])
    for alias, topic in (("Y", "bills"), ("X", "Y.bills")):
        assert [each[3:] for each in runs_at(config, alias, topic, (), stamped)[0]] == [("Y", 0)]
