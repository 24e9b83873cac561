"""Whether the next record is the same on both sides, told from records that a reader hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fakes.reconciler_site import ORDERS, config_of
from offset_sync.kafka.requests import Clock
from offset_sync.model.reasons import Reason
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.status.record_comparison import RecordComparer, RecordPair

PAY = TopicPartition("pay-in", 3)
PAIR = RecordPair("X", "Y", ORDERS, 4, 6)
HERE = RecordContent(4, 1000, b"k", b"v", (("trace", b"1"),))
THERE = RecordContent(6, 1000, b"k", b"v", (("IDC", b"X"), ("Offset", b"4")))
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass
class Reader:
    """Holds one record per partition of a cluster; *asked* keeps what it was asked for."""

    records: dict[tuple[str, TopicPartition], RecordContent] = field(default_factory=dict)
    asked: list[tuple[str, dict[TopicPartition, int]]] = field(default_factory=list)
    seconds: float = 0.0

    def first_records(self, alias: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, RecordContent]:
        self.asked.append((alias, dict(offsets)))
        self.seconds += 1.0
        return {each: self.records[alias, each] for each in offsets if (alias, each) in self.records}


def comparer(reader: Reader, budget_s: float = 100.0) -> RecordComparer:
    kafka = {"kafka": {"bootstrap.servers": "x:1"}}
    clusters = {"X": kafka, "Y": kafka, "Z": {"origin": "origin-Z", **kafka}}
    config = config_of([], clusters=clusters)
    return RecordComparer(lambda: config, reader, budget_s, Clock(lambda: reader.seconds))


OF_Z: Headers = (("IDC", b"origin-Z"), ("Offset", b"77"))  # by the name that Z's headers carry
MALFORMED: Headers = (("IDC", b"X"), ("Offset", b"-4"))


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ({}, {"headers": (*THERE.headers, ("hops", b"2"), ("empty", None))}, None),
        ({"headers": OF_Z}, {"headers": OF_Z}, None),
        ({}, {"headers": (("Offset", b"9"), ("IDC", b"Y"), ("IDC", b"X"), ("Offset", b"4"))}, None),  # the last counts
        ({}, {"headers": (("IDC", b"X"), ("Offset", b"5"))}, Reason.OTHER_RECORD()),
        ({}, {"headers": ()}, Reason.OTHER_RECORD()),
        ({"headers": MALFORMED}, {}, Reason.HEADERS_UNREAD()),
        ({}, {"headers": MALFORMED}, Reason.HEADERS_UNREAD()),
        ({}, {"key": None}, Reason.RECORD_DIFFERS("key")),
        ({}, {"value": b""}, Reason.RECORD_DIFFERS("value")),
        ({}, {"timestamp_ms": 1001}, Reason.RECORD_DIFFERS("timestamp")),
        ({}, None, Reason.RECORD_UNREAD("Y")),
    ],
)
def test_records_are_the_same_by_where_they_were_produced_and_what_they_hold(
    here: dict[str, Any], there: dict[str, Any] | None, said: str | None
) -> None:
    reader = Reader({("X", ORDERS): replace(HERE, **here)})
    if there is not None:
        reader.records["Y", ORDERS] = replace(THERE, **there)
    assert comparer(reader).compare([PAIR]) == {PAIR: said}


# Several pairs


def pairs(count: int) -> list[RecordPair]:
    return [RecordPair("X", "Y", ORDERS, 4 + number, 6 + number) for number in range(count)]


def test_of_one_partition_one_offset_is_asked_at_a_time_and_all_partitions_together() -> None:
    reader = Reader()
    comparer(reader).compare(
        [*pairs(2), RecordPair("X", "Y", PAY, 1, 2), RecordPair("Y", "X", TopicPartition("t", 0), 7, 8)]
    )
    assert reader.asked == [
        ("Y", {ORDERS: 6, PAY: 2, TopicPartition("t", 0): 7}),
        ("X", {ORDERS: 4, PAY: 1, TopicPartition("t", 0): 8}),
        ("X", {ORDERS: 5}),
        ("Y", {ORDERS: 7}),
    ]


def test_when_there_is_too_much_to_compare_the_rest_is_not_called_the_same_and_comes_next_time() -> None:
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): THERE})
    compare = comparer(reader, budget_s=4.0).compare
    found = list(compare(pairs(5)).values())
    assert found == [None, None, *[Reason.NOT_COMPARED()] * 3]
    assert list(compare(pairs(5)).values()) == [None] * 4 + [found[-1]]
    assert list(compare(pairs(5)).values()) == [None] * 5
