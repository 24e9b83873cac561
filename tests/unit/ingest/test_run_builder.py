"""Arrow batches of mirror headers to runs, by the headers of each kind of mirror."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.record_schemas import MIRRORED_RECORDS
from generators.hypothesis_strategies import law
from offset_sync.config import Config, parse_config
from offset_sync.decode.mirror_headers import NO_PLACE, OTHER_ORIGIN
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities, identities_at
from offset_sync.model.values import RecordContent, TopicPartition


class Record(NamedTuple):
    """A record as Spark reads it; headers None: it has none."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    origin: bytes | None
    origin_offset: bytes | None


class Run(NamedTuple):
    """A run as it comes out; *length* 0 and an error: a malformed record."""

    topic: str
    partition: int
    start_offset: int
    length: int
    origin: str
    origin_start: int
    min_timestamp_ms: int
    max_timestamp_ms: int
    error: str | None = None
    origin_header: bytes | None = None
    offset_header: bytes | None = None


def is_legacy(topic: str) -> bool:
    return topic.startswith("legacy")


CUTTER = RunBuilder(StreamIdentities("X", {"IDC-X": "X", "IDC-Y": "Y"}, "text"), is_legacy)


def cut(records: list[Record], borders: Iterable[int]) -> tuple[list[Run], list[Run]]:
    """Return the runs and the malformed records, each in the order they came out, of batches that end at *borders*."""
    cuts = [0, *sorted(b for b in borders if b <= len(records)), len(records)]
    rows = [each._replace(timestamp_ms=each.timestamp_ms * 1000) for each in records]
    tables = [
        pa.RecordBatch.from_pylist([dict(zip(MIRRORED_RECORDS.names, row)) for row in rows[low:high]], MIRRORED_RECORDS)
        for low, high in pairwise(cuts)
    ]
    found = [Run(*row.values()) for batch in CUTTER(tables) for row in batch.to_pylist()]
    return [row for row in found if row.error is None], [row for row in found if row.error is not None]


# Any batches

HEADERS = [(None, None), (b"IDC-Y", b"?"), (b"IDC-X", b"0"), (b"IDC-X", b"999"), (b"new", b"5"), (b"\xff", b"1")]
HEADERS += [(b"IDC-Y", None), (None, b"100"), ("grün".encode(), b"6"), (b"Y", b"100"), (b"", b"3")]

MIRRORED = len(HEADERS)
"""Of a record that goes on where the one before was mirrored from."""


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Records of a few partitions, one after the other: native, mirrored, with markers, bad headers and timestamps."""
    partitions = st.tuples(st.sampled_from(["orders", "legacy"]), st.integers(0, 2))
    kinds = st.sampled_from([0, MIRRORED] * 6 + [*range(MIRRORED)])
    changes = st.tuples(st.sampled_from([0, 0, 0, 1]), kinds, st.integers(0, 1))
    records: list[Record] = []
    for topic, partition in draw(st.lists(partitions, min_size=1, max_size=3)):
        offset = draw(st.integers(0, 5))
        for gap, kind, at_ms in draw(st.lists(changes, min_size=2, max_size=8)):
            offset += gap
            headers = HEADERS[kind] if kind < MIRRORED else (b"IDC-Y", str(100 + offset).encode())
            records.append(Record(topic, partition, offset, at_ms, *headers))
            offset += 1
    return records


def oracle(records: list[Record], borders: list[int]) -> list[Run]:
    """Cut record by record, and at the *borders* of batches."""
    runs: list[Run] = []
    for number, r in enumerate(records):
        identity = ("X", r.offset)
        if r.origin is not None and r.origin_offset is not None:
            text = r.origin.decode(errors="replace")
            alias = CUTTER.identities.origins.get(text, text)
            is_bad = not r.origin_offset.isdigit() or "�" in text or not text
            is_bad = is_bad or (alias == "X" and int(r.origin_offset) > r.offset)
            identity = ("", r.offset) if is_bad else (alias, int(r.origin_offset))
        last = runs[-1] if runs else None
        goes_on = last is not None and (last.topic, last.partition) == (r.topic, r.partition) and number not in borders
        goes_on = goes_on and r.offset == last.start_offset + last.length
        goes_on = goes_on and identity == (last.origin, last.origin_start + last.length)
        if goes_on and not (is_legacy(r.topic) and last.max_timestamp_ms != r.timestamp_ms):
            low, high = min(last.min_timestamp_ms, r.timestamp_ms), max(last.max_timestamp_ms, r.timestamp_ms)
            runs[-1] = last._replace(length=last.length + 1, min_timestamp_ms=low, max_timestamp_ms=high)
        else:
            runs.append(Run(r.topic, r.partition, r.offset, 1, *identity, r.timestamp_ms, r.timestamp_ms))
    return runs


@law(100)
@given(logs(), st.lists(st.integers(0, 24), max_size=6) | st.just([*range(24)]))
def test_a_batch_becomes_runs_as_long_as_possible(records: list[Record], borders: list[int]) -> None:
    runs, malformed = cut(records, borders)
    assert runs == oracle(records, borders)
    places = [(r.topic, r.partition, r.start_offset + n) for r in runs if r.origin == "" for n in range(r.length)]
    assert sorted((m.topic, m.partition, m.start_offset) for m in malformed) == sorted(places)


ENDS: dict[str, Any] = {"kafka": {"bootstrap.servers": "x:1"}}
Headers = tuple[tuple[str, bytes], ...]
Told = tuple[str, int, int, str | None, int | None]


def config_of(names: str = "mm2", **mirror: Any) -> Config:
    clusters = {alias: ENDS | {"origin": f"IDC-{alias}"} for alias in "XYZ"}
    return parse_config({"clusters": clusters, "mirror": mirror | {"names": names}, "topics": {"include": [".*"]}}, {})


def runs_at(config: Config, alias: str, topic: str, *records: Headers) -> tuple[list[Told], list[tuple[int, str]]]:
    """Return the runs of records of partition 3 of what *alias* calls *topic*, and which are malformed and why."""
    builder, place = RunBuilder(identities_at(config, alias), config.is_timed), TopicPartition(topic, 3)
    rows = MirroredRecords(config.mirror)(
        [(place, RecordContent(offset, 1, None, b"v", each)) for offset, each in enumerate(records)]
    )
    found = pa.Table.from_batches(pickle.loads(pickle.dumps(builder))([rows])).to_pylist()
    runs = [
        (r["topic"], r["start_offset"], r["length"], r["origin"], r["origin_start"]) for r in found if not r["error"]
    ]
    return sorted(runs), [(row["start_offset"], row["error"]) for row in found if row["error"] is not None]


def stamped(origin: str, offset: int, *place: str) -> Headers:
    places = (("Place", each.encode()) for each in place)
    return (("IDC", origin.encode()), ("Offset", b"%d" % offset), *places)


# Topics that are named for their origin


def test_at_home_headers_are_what_an_application_has_handed_on() -> None:
    records = ((), stamped("IDC-Y", 7), stamped("IDC-Z", 0), stamped("IDC-X", 1), stamped("IDC-Y", -1))
    assert runs_at(config_of(), "X", "orders", *records) == ([("X.orders", 0, 5, "X", 0)], [])


@pytest.mark.parametrize("topic", ["X.orders", "Y.X.orders"])
def test_a_copy_has_records_of_its_home_and_what_names_another_origin_is_unread_by_everyone(topic: str) -> None:
    records = (*(stamped("IDC-X", offset) for offset in (5, 6)), stamped("IDC-Y", 7), stamped("IDC-Z", 0), ())
    runs, errors = runs_at(config_of(), "Z", topic, *records)
    assert runs == [("X.orders", 0, 2, "X", 5), ("X.orders", 2, 2, "", 2), ("X.orders", 4, 1, "Z", 4)]
    assert errors == [(2, OTHER_ORIGIN), (3, OTHER_ORIGIN)]


@pytest.mark.parametrize(
    ("names", "topic", "stream", "place", "other"),
    [("mm2", "X.orders", "X.orders", "orders-3", "X.orders-3"), ("same", "orders", "orders", "orders-3", "pay-3")],
)
def test_records_that_name_another_place_are_produced_here_and_copies_without_one_are_malformed(
    names: str, topic: str, stream: str, place: str, other: str
) -> None:
    """The place is that at the origin."""
    places = ([place], [place], [other], ["orders-4"], [])
    copies = [stamped("IDC-X", 50 + offset, *each) for offset, each in enumerate(places)]
    runs, errors = runs_at(config_of(names, place_header="Place"), "Y", topic, *copies, (), stamped("IDC-X", 55, place))
    wanted = [(0, 2, "X", 50), (2, 2, "Y", 2), (4, 1, "", 4), (5, 1, "Y", 5), (6, 1, "X", 55)]
    assert (runs, errors) == ([(stream, *each) for each in wanted], [(4, NO_PLACE)])
