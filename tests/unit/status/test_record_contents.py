"""Whether the next record is the same on both sides, from a mirror that stamps nothing: by all that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from offset_sync.config import parse_config
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.status.record_comparison import RecordComparer, RecordPair

ORDERS = TopicPartition("X.orders", 0)
HERE = RecordContent(4, 1000, b"k", b"v", (("trace", b"1"),))
COPY = replace(HERE, offset=6)
OTHER_COPIES = [
    (replace(COPY, key=b"K"), "another key"),
    (replace(COPY, value=b"V"), "another value"),
    (replace(COPY, timestamp_ms=1001), "another timestamp"),
    (replace(COPY, headers=()), "other headers"),
]


@dataclass
class Reader:
    """Holds a record of each cluster."""

    records: Mapping[str, RecordContent]

    def first_records(self, alias: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, RecordContent]:
        return dict.fromkeys(offsets, self.records[alias])


def compared(there: RecordContent, keeps: Sequence[str] = ("timestamps", "headers")) -> str | None:
    """What is said of ``HERE`` at X, and of this record at Y."""
    clusters = {alias: {"kafka": {"bootstrap.servers": "x:1"}} for alias in ("X", "Y")}
    mirror = {"identity": "fingerprint", "names": "mm2", "keeps": list(keeps)}
    config = parse_config({"clusters": clusters, "mirror": mirror, "topics": {"include": [".*"]}}, {})
    pair = RecordPair("X", "Y", ORDERS, 4, 6)
    return RecordComparer(config, Reader({"X": HERE, "Y": there})).compare([pair])[pair]


def test_what_has_the_same_contents_is_the_same_though_nothing_says_where_it_was_produced() -> None:
    assert compared(COPY) is None


@pytest.mark.parametrize(("there", "what"), OTHER_COPIES)
def test_all_that_the_mirror_keeps_is_compared(there: RecordContent, what: str) -> None:
    assert compared(there) == f"the next record has {what} on each side"


@pytest.mark.parametrize(("there", "what"), OTHER_COPIES)
def test_what_it_does_not_keep_may_differ(there: RecordContent, what: str) -> None:
    is_kept = what in ("another key", "another value")
    assert (compared(there, keeps=[]) is not None) is is_kept
