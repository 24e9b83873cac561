"""Runs of topics that are named for their origin: they bear streams, and no other origin."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from builders.record_schemas import MIRRORED_RECORDS
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.decode.mirror_headers import NO_PLACE, OTHER_ORIGIN, PLACE_HEADER
from offset_sync.ingest.run_builder import CUT_SCHEMA, RunBuilder, StreamIdentities

ALIASES = ("dc1", "dc2", "dc3")
ORIGINS = {"IDC1": "dc1", "dc2": "dc2", "dc3": "dc3"}
Header = tuple[str, int] | tuple[str, int, str | None] | None


def cut(alias: str, topic: str, *headers: Header, place: bool = False) -> list[tuple[Any, ...]]:
    """Return (stream, start, length, origin, origin_start, error) of what is made of records with these headers."""
    names = PrefixNames({each: each for each in ALIASES}, ".")
    builder = RunBuilder(StreamIdentities(alias, ORIGINS, "text", names), lambda _stream: False)
    rows = [
        {
            "topic": topic,
            "partition": 3,
            "offset": offset,
            "timestamp": 0,
            "origin_header": each and each[0].encode(),
            "offset_header": each and str(each[1]).encode(),
        }
        for offset, each in enumerate(headers)
    ]
    batch = pa.RecordBatch.from_pylist(rows, MIRRORED_RECORDS)
    if place:
        said = [each[2].encode() if each and len(each) > 2 and each[2] else None for each in headers]
        batch = batch.append_column(PLACE_HEADER, pa.array(said, pa.binary()))
    found = pa.Table.from_batches(list(builder([batch])), CUT_SCHEMA)
    columns = ("topic", "start_offset", "length", "origin", "origin_start", "error")
    return sorted(zip(*(found.column(name).to_pylist() for name in columns), strict=True), key=str)


def test_at_home_headers_are_what_an_application_has_handed_on() -> None:
    assert cut("dc1", "orders", None, ("dc2", 7), ("dc3", 0), ("IDC1", 1), ("dc2", -1)) == [
        ("dc1.orders", 0, 5, "dc1", 0, None)
    ]


@pytest.mark.parametrize("topic", ["dc1.orders", "dc2.dc1.orders"])
def test_a_copy_has_records_of_its_home_and_what_names_another_origin_is_unread_by_everyone(topic: str) -> None:
    found = cut("dc3", topic, ("IDC1", 5), ("IDC1", 6), ("dc2", 7), ("dc3", 0), None)
    assert [each for each in found if each[5] is None] == [
        ("dc1.orders", 0, 2, "dc1", 5, None),
        ("dc1.orders", 2, 2, "", 2, None),
        ("dc1.orders", 4, 1, "dc3", 4, None),  # it was produced here
    ]
    assert [each[:2] for each in found if each[5] == OTHER_ORIGIN] == [("dc1.orders", 2), ("dc1.orders", 3)]


def test_the_place_is_that_at_the_origin() -> None:
    right, own = ("IDC1", 5, "orders-3"), ("IDC1", 6, "dc1.orders-3")
    found = cut("dc2", "dc1.orders", right, own, ("IDC1", 7, "orders-4"), ("IDC1", 8, None), place=True)
    assert [each for each in found if each[5] is None] == [
        ("dc1.orders", 0, 1, "dc1", 5, None),
        ("dc1.orders", 1, 2, "dc2", 1, None),
        ("dc1.orders", 3, 1, "", 3, None),
    ]
    assert [(each[1], each[5]) for each in found if each[5]] == [(3, NO_PLACE)]


def test_what_is_no_stream_is_kept_apart_by_its_cluster() -> None:
    assert cut("dc1", "dc2.heartbeats", None) == [("dc2.heartbeats at dc1", 0, 1, "dc1", 0, None)]
