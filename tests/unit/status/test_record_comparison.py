"""Whether the next record is the same on both sides, told from records that a reader hands over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from fakes.reconciler_site import ORDERS, config_of
from offset_sync.config import Config
from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.status.record_comparison import RecordComparer, RecordPair

PAY = TopicPartition("pay-in", 3)
PAIR = RecordPair("X", "Y", ORDERS, 4, 6)
HERE = RecordContent(4, 1000, b"k", b"v", (("trace", b"1"),))
THERE = RecordContent(6, 1000, b"k", b"v", (("IDC", b"X"), ("Offset", b"4")))
X_ORDERS = TopicPartition("X.orders", 0)
COPY = replace(HERE, offset=6)
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass
class Reader:
    """Holds one record per partition of a cluster; *asked* keeps what it was asked for."""

    records: dict[tuple[str, TopicPartition], RecordContent] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    asked: list[tuple[str, dict[TopicPartition, int]]] = field(default_factory=list)
    seconds: float = 0.0

    def first_records(
        self, alias: str, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, RecordContent] | ClusterError:
        self.asked.append((alias, dict(offsets)))
        self.seconds += 1.0
        if alias in self.down:
            return ClusterError(alias, "does not answer")
        return {each: self.records[alias, each] for each in offsets if (alias, each) in self.records}


def comparer(reader: Reader, budget_s: float = 100.0, **mirror: str) -> RecordComparer:
    kafka = {"kafka": {"bootstrap.servers": "x:1"}}
    clusters = {"X": kafka, "Y": kafka, "Z": {"origin": "origin-Z", **kafka}}
    config = config_of([], clusters=clusters, mirror=mirror)
    return RecordComparer(lambda: config, reader, budget_s, Clock(lambda: reader.seconds))


def difference(config: Config, here: RecordContent, there: RecordContent, pair: RecordPair = PAIR) -> str | None:
    """What is said of these two records by a configuration."""
    place = pair.topic_partition
    return RecordComparer(lambda: config, Reader({("X", place): here, ("Y", place): there})).compare([pair])[pair]


def compared(here: RecordContent | None, there: RecordContent | None, **mirror: str) -> str | None:
    """What is said of these two records, of which one may not be readable."""
    found = {("X", ORDERS): here, ("Y", ORDERS): there}
    reader = Reader({where: record for where, record in found.items() if record is not None})
    return comparer(reader, **mirror).compare([PAIR])[PAIR]


def test_the_same_record_is_the_same_whatever_else_its_headers_say() -> None:
    assert compared(HERE, THERE) is None
    assert compared(HERE, replace(THERE, headers=(*THERE.headers, ("hops", b"2"), ("empty", None)))) is None


def test_both_may_be_copies_of_a_third_clusters_record_and_each_others() -> None:
    third: Headers = (("IDC", b"origin-Z"), ("Offset", b"77"))
    assert compared(replace(HERE, headers=third), replace(THERE, headers=third)) is None
    assert compared(replace(HERE, headers=(("IDC", b"Y"), ("Offset", b"6"))), replace(THERE, headers=())) is None


def test_a_cluster_is_known_by_the_name_that_its_headers_carry() -> None:
    copy = replace(HERE, headers=(("IDC", b"origin-Z"), ("Offset", b"6")))
    pair = replace(PAIR, target="Z")
    reader = Reader({("X", ORDERS): copy, ("Z", ORDERS): replace(THERE, headers=())})
    assert comparer(reader).compare([pair]) == {pair: None}


@pytest.mark.parametrize(
    "headers",
    [
        (("IDC", b"X"), ("Offset", b"5")),
        (("IDC", b"Y"), ("Offset", b"4")),
        (("IDC", b"X"), ("Offset", b"4"), ("Offset", b"5")),
        (("IDC", b"X"),),
        (("IDC", b"X"), ("Offset", None)),
        (),
    ],
)
def test_another_identity_is_another_record(headers: Headers) -> None:
    assert compared(HERE, replace(THERE, headers=headers)) == "source and target have different next records"


def test_of_a_header_that_occurs_twice_the_last_one_counts() -> None:
    twice: Headers = (("Offset", b"9"), ("IDC", b"Y"), ("IDC", b"X"), ("Offset", b"4"))
    assert compared(HERE, replace(THERE, headers=twice)) is None


@pytest.mark.parametrize(
    ("there", "what"),
    [
        (replace(THERE, key=b"K"), "key"),
        (replace(THERE, key=None), "key"),
        (replace(THERE, value=b""), "value"),
        (replace(THERE, value=None), "value"),
        (replace(THERE, timestamp_ms=1001), "timestamp"),
    ],
)
def test_the_same_identity_with_other_content_is_not_the_same(there: RecordContent, what: str) -> None:
    assert compared(HERE, there) == f"source and target differ in the {what} of the next record"


MALFORMED: Headers = (("IDC", b"X"), ("Offset", b"-4"))


@pytest.mark.parametrize(("here", "there"), [(MALFORMED, THERE.headers), ((), MALFORMED), (MALFORMED, MALFORMED)])
def test_records_whose_headers_cannot_be_read_are_never_the_same(here: Headers, there: Headers) -> None:
    assert compared(replace(HERE, headers=here), replace(THERE, headers=there)) == (
        "the next record's headers cannot be read"
    )


def test_the_configured_headers_and_encoding_are_used() -> None:
    headers: Headers = (("from", b"X"), ("at", (4).to_bytes(8, "big")))
    mirror = {"origin_header": "from", "offset_header": "at", "offset_encoding": "int64"}
    assert compared(HERE, replace(THERE, headers=headers), **mirror) is None
    assert compared(HERE, THERE, **mirror) is not None


def test_copies_byte_for_byte_are_the_same_at_the_same_offset_whatever_their_headers_say() -> None:
    config = config_of(["X", "Y"], topics={"include": [".*"], "strategy": "identity", "origin": "X"})
    copy = replace(HERE, headers=MALFORMED)
    for there, said in (
        (copy, None),
        (replace(copy, offset=5), "source and target have different next records"),
        (replace(copy, value=b"other"), "source and target differ in the value of the next record"),
    ):
        assert difference(config, HERE, there) == said


def of_redpanda(origin: bytes, offset: int) -> Headers:
    return (("redpanda-migrator-provenance", origin), ("redpanda-migrator-offset", offset.to_bytes(8, "big")))


def compared_by_ids(there: Headers, ids: dict[str, str]) -> str | None:
    """What is said of a record of X and its copy at Y by Redpanda Migrator, where *ids* are known."""
    config = config_of(["X", "Y"], mirror={"preset": "redpanda-migrator"})
    return difference(config.with_ids(ids), HERE, replace(THERE, headers=there))


def test_a_cluster_is_known_by_its_id_where_the_mirror_has_that() -> None:
    ids = {"X": "id-X", "Y": "id-Y"}
    assert compared_by_ids(of_redpanda(b"id-X", 4), ids) is None
    assert compared_by_ids(of_redpanda(b"id-X", 5), ids) == "source and target have different next records"
    for origin in (b"id-Y", b"third", b"X"):
        assert compared_by_ids(of_redpanda(origin, 4), ids) == "the next record's headers cannot be read"
    assert compared_by_ids(of_redpanda(b"id-X", 4), {"Y": "id-Y"}) == "the next record's headers cannot be read"


def test_ids_that_become_known_later_count_from_then_on() -> None:
    """``index_records`` keeps them, and may be started after the process that compares."""
    unknown = config_of(["X", "Y"], mirror={"preset": "redpanda-migrator"})
    known = [unknown, unknown.with_ids({"X": "id-X", "Y": "id-Y"})]
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): replace(THERE, headers=of_redpanda(b"id-X", 4))})
    comparing = RecordComparer(lambda: known.pop(0), reader)
    assert [comparing.compare([PAIR])[PAIR] for _ in range(2)] == ["the next record's headers cannot be read", None]


def test_a_place_header_has_the_name_at_the_origin_and_means_nothing_there() -> None:
    config = config_of(["X", "Y"], mirror={"place_header": "Place", "names": "mm2"})
    pair = replace(PAIR, topic_partition=X_ORDERS)
    for place, said in ((b"orders-0", None), (b"X.orders-0", "source and target have different next records")):
        stamp: Headers = (("IDC", b"X"), ("Offset", b"4"), ("Place", place))
        assert difference(config, replace(HERE, headers=stamp), replace(THERE, headers=stamp), pair) == said


@pytest.mark.parametrize(("here", "there", "where"), [(None, THERE, "X"), (HERE, None, "Y"), (None, None, "X")])
def test_a_record_that_did_not_come_is_not_the_same(
    here: RecordContent | None, there: RecordContent | None, where: str
) -> None:
    assert compared(here, there) == f"its next record at {where} could not be read for comparison"


def test_a_cluster_that_does_not_answer_leaves_the_others_compared() -> None:
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): THERE}, {"Z"})
    other = RecordPair("X", "Z", PAY, 4, 6)
    assert comparer(reader).compare([PAIR, other]) == {
        PAIR: None,
        other: "its next record at X could not be read for comparison",
    }
    third = RecordPair("X", "Z", ORDERS, 4, 6)
    assert comparer(reader).compare([third]) == {third: "its next record at Z could not be read for comparison"}


# From a mirror that stamps nothing: by all that it keeps

OTHER_COPIES = [
    (replace(COPY, key=b"K"), "key"),
    (replace(COPY, value=b"V"), "value"),
    (replace(COPY, timestamp_ms=1001), "timestamp"),
    (replace(COPY, headers=()), "headers"),
]


def compared_by_contents(there: RecordContent, keeps: Sequence[str] = ("timestamps", "headers")) -> str | None:
    """What is said of ``HERE`` at X, and of this record at Y."""
    config = config_of(["X", "Y"], mirror={"identity": "fingerprint", "names": "mm2", "keeps": list(keeps)})
    return difference(config, HERE, there, replace(PAIR, topic_partition=X_ORDERS))


def test_what_has_the_same_contents_is_the_same_though_nothing_says_where_it_was_produced() -> None:
    assert compared_by_contents(COPY) is None
    assert compared_by_contents(replace(COPY, headers=(*COPY.headers, ("__mskmr", b"id of X")))) is None


@pytest.mark.parametrize(("there", "what"), OTHER_COPIES)
def test_all_that_the_mirror_keeps_is_compared(there: RecordContent, what: str) -> None:
    assert compared_by_contents(there) == f"source and target differ in the {what} of the next record"


@pytest.mark.parametrize(("there", "what"), OTHER_COPIES)
def test_what_it_does_not_keep_may_differ(there: RecordContent, what: str) -> None:
    is_kept = what in ("key", "value")
    assert (compared_by_contents(there, keeps=[]) is not None) is is_kept


# Several pairs


def pairs(count: int) -> list[RecordPair]:
    return [RecordPair("X", "Y", ORDERS, 4 + number, 6 + number) for number in range(count)]


def test_of_one_partition_one_offset_is_asked_at_a_time_and_all_partitions_together() -> None:
    reader = Reader()
    comparer(reader).compare(
        [*pairs(2), RecordPair("X", "Y", PAY, 1, 2), RecordPair("Y", "X", TopicPartition("t", 0), 7, 8)]
    )
    assert reader.asked == [
        ("X", {ORDERS: 4, PAY: 1, TopicPartition("t", 0): 8}),
        ("Y", {ORDERS: 6, PAY: 2, TopicPartition("t", 0): 7}),
        ("X", {ORDERS: 5}),
        ("Y", {ORDERS: 7}),
    ]


def test_the_same_pair_is_read_once_and_what_was_the_same_never_again() -> None:
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): THERE})
    compare = comparer(reader).compare
    assert compare([PAIR, PAIR]) == {PAIR: None}
    assert compare([PAIR]) == {PAIR: None}
    assert len(reader.asked) == 2
    assert list(compare([replace(PAIR, source_offset=3), PAIR])) == [
        replace(PAIR, source_offset=3),
        PAIR,
    ]
    assert reader.asked[2:] == [("X", {ORDERS: 3}), ("Y", {ORDERS: 6})]


def test_what_was_not_the_same_is_read_again() -> None:
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): replace(THERE, value=b"other")})
    compare = comparer(reader).compare
    assert compare([PAIR])[PAIR] is not None
    reader.records["Y", ORDERS] = THERE
    assert compare([PAIR])[PAIR] is None
    assert len(reader.asked) == 4


def test_a_memory_that_is_full_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offset_sync.status.record_comparison._REMEMBERED", 2)
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): THERE})
    compare = comparer(reader).compare
    for each in pairs(4):
        assert compare([each])[each] is None
    assert compare([pairs(1)[0]]) == {pairs(1)[0]: None}
    assert len(reader.asked) == 10


def test_when_there_is_too_much_to_compare_the_rest_is_not_called_the_same_and_comes_next_time() -> None:
    reader = Reader({("X", ORDERS): HERE, ("Y", ORDERS): THERE})
    compare = comparer(reader, budget_s=4.0).compare
    found = list(compare(pairs(5)).values())
    assert found == [None, None, *["its next record is not compared yet: too many comparisons for one report"] * 3]
    assert list(compare(pairs(5)).values()) == [None] * 4 + [found[-1]]
    assert list(compare(pairs(5)).values()) == [None] * 5
