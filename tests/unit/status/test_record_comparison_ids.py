"""Which cluster a record names is known as soon as anybody knows its id."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakes.reconciler_site import ORDERS
from offset_sync.config import parse_config
from offset_sync.model.values import RecordContent
from offset_sync.status.record_comparison import RecordComparer, RecordPair

PAIR = RecordPair("X", "Y", ORDERS, 4, 6)
HERE = RecordContent(4, 1000, b"k", b"v", ())
STAMPS = (("redpanda-migrator-provenance", b"id-X"), ("redpanda-migrator-offset", (4).to_bytes(8, "big")))


class Reader:
    """Has a record of X, and its copy at Y."""

    def first_records(self, alias: str, offsets: Any) -> dict[Any, RecordContent]:
        return {ORDERS: HERE if alias == "X" else replace(HERE, offset=6, headers=STAMPS)}


def test_ids_that_become_known_later_count_from_then_on() -> None:
    """``index_records`` keeps them, and may be started after whoever compares."""
    kafka, mirror = {"kafka": {"bootstrap.servers": "x:1"}}, {"preset": "redpanda-migrator"}
    unknown = parse_config({"clusters": {"X": kafka, "Y": kafka}, "mirror": mirror, "topics": {"include": [".*"]}}, {})
    known = [unknown, unknown.with_origins({"X": "id-X", "Y": "id-Y"})]
    comparing = RecordComparer(unknown, Reader(), renewed=lambda: known.pop(0))
    assert [comparing.compare([PAIR])[PAIR] for _ in range(2)] == ["the next record's headers cannot be read", None]
