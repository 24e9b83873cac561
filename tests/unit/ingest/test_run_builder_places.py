"""Runs of records with the mirror's third header, which says of which place they are copies."""

from __future__ import annotations

import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from offset_sync.decode.mirror_headers import NO_PLACE, PLACE_HEADER
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities

CUTTER = RunBuilder(StreamIdentities("X", {"IDC-Y": "Y"}, "text"), str.isupper)


def test_records_that_name_another_place_are_produced_here_and_copies_without_one_are_malformed() -> None:
    places = [b"orders-0", b"orders-0", b"pay-0", None, None, b"orders-0"]
    rows = [
        {
            "topic": "orders",
            "partition": 0,
            "offset": offset,
            "timestamp": 0,
            "origin_header": None if offset == 4 else b"IDC-Y",
            "offset_header": None if offset == 4 else b"%d" % (offset + 50),
        }
        for offset in range(len(places))
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=MIRRORED_RECORDS)
    found = pa.Table.from_batches(CUTTER([batch.append_column(PLACE_HEADER, pa.array(places, pa.binary()))]))
    columns = ("start_offset", "length", "origin", "origin_start", "error")
    assert sorted(zip(*(found.column(name).to_pylist() for name in columns), strict=True), key=str) == [
        (0, 2, "Y", 50, None),
        (2, 1, "X", 2, None),
        (3, 0, None, None, NO_PLACE),
        (3, 1, "", 3, None),
        (4, 1, "X", 4, None),
        (5, 1, "Y", 55, None),
    ]
