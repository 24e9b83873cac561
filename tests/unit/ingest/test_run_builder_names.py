"""Runs by the headers of other mirrors, of topics that are named for their origin, and with a place header."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config import Config, parse_config
from offset_sync.decode.mirror_headers import NO_PLACE, OTHER_ORIGIN
from offset_sync.ingest.kafka_source import MirroredRecords
from offset_sync.jobs.index_records import builder_of
from offset_sync.model.values import RecordContent, TopicPartition

ENDS: dict[str, Any] = {"kafka": {"bootstrap.servers": "x:1"}}
Headers = tuple[tuple[str, bytes], ...]
Run = tuple[str, int, int, str | None, int | None]


def config_of(names: str = "mm2", **mirror: Any) -> Config:
    of_preset = "preset" in mirror
    clusters = {
        alias: ENDS | ({} if of_preset else {"origin": f"IDC-{alias}"}) for alias in ("XY" if of_preset else "XYZ")
    }
    tree = {"clusters": clusters, "mirror": mirror | {"names": names}, "topics": {"include": [".*"]}}
    return parse_config(tree, {}).with_ids({alias: f"id-{alias}" for alias in clusters})


def runs_at(config: Config, alias: str, topic: str, *records: Headers) -> tuple[list[Run], list[tuple[int, str]]]:
    """Return the runs of records of partition 3 of what *alias* calls *topic*, and which are malformed and why."""
    builder, place = builder_of(config, alias), TopicPartition(topic, 3)
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


def of_redpanda(origin: str, offset: int, *place: str) -> Headers:
    return (
        ("redpanda-migrator-provenance", origin.encode()),
        ("redpanda-migrator-offset", offset.to_bytes(8, "big")),
        *(("Place", each.encode()) for each in place),
    )


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


# Redpanda Migrator


@pytest.mark.parametrize(("names", "there", "stream"), [("same", "orders", "orders"), ("mm2", "X.orders", "X.orders")])
def test_copies_of_redpanda_migrator_have_the_alias_of_the_cluster_with_that_id(
    names: str, there: str, stream: str
) -> None:
    config = config_of(names, preset="redpanda-migrator")
    copies = [of_redpanda("id-X", 70), of_redpanda("id-X", 71), (), of_redpanda("id-X", 72)]
    wanted = [(0, 2, "X", 70), (2, 1, "Y", 2), (3, 1, "X", 72)]
    assert runs_at(config, "Y", there, *copies) == ([(stream, *each) for each in wanted], [])


@pytest.mark.parametrize("origin", ["id-W", "id-Y", "X", "Y"])
@pytest.mark.parametrize(("names", "there", "stream"), [("same", "orders", "orders"), ("mm2", "X.orders", "X.orders")])
def test_a_copy_of_another_hop_is_unread(names: str, there: str, stream: str, origin: str) -> None:
    config = config_of(names, preset="redpanda-migrator")
    copies = [of_redpanda("id-X", 70), of_redpanda(origin, 0), of_redpanda("id-X", 71)]
    runs, errors = runs_at(config, "Y", there, *copies)
    assert runs == [(stream, 0, 1, "X", 70), (stream, 1, 1, "", 1), (stream, 2, 1, "X", 71)]
    assert errors == [(1, f"origin header {origin!r} is of no cluster that is mirrored to this one")]


def test_redpandas_place_header_has_the_name_at_the_origin() -> None:
    config = config_of(preset="redpanda-migrator", place_header="Place")
    copies = [of_redpanda("id-X", 70, "orders-3"), of_redpanda("id-X", 71, "X.orders-3"), of_redpanda("id-X", 72)]
    runs, errors = runs_at(config, "Y", "X.orders", *copies)
    assert runs == [("X.orders", 0, 1, "X", 70), ("X.orders", 1, 1, "Y", 1), ("X.orders", 2, 1, "", 2)]
    assert errors == [(2, NO_PLACE)]
