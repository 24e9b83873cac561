"""What the command check makes of the headers of the newest records, topic by topic."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from fakes.newest_logs import asked, copied, known_config, natives, record, said_at, said_between, stamped
from offset_sync.jobs.check import judge_mirrors
from offset_sync.jobs.checks.stamps import wrapped_origin
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.finding import Level

CHECK = "mirror headers: "
ORDERS = natives(20)
MIRRORED = {"IDC": b"dc1", "Offset": b"7"}
REDPANDA = {"redpanda-migrator-provenance": b"id-1", "redpanda-migrator-offset": (7).to_bytes(8, "big")}
KNOWN = {"dc1", "abcd"}  # the second one could be base64 itself
PLACED: dict[str, Any] = {"mirror": {"place_header": "Place"}}


def at_dc2(
    logs: dict[str, Sequence[TailRecord]], at_dc1: dict[str, Sequence[TailRecord]] | None = None, **sections: Any
) -> list[str]:
    """Return what is said of headers at dc2."""
    found = said_at("dc2", known_config(**sections), {"dc1": at_dc1 or {}, "dc2": logs})
    return [each.replace(CHECK, "") for each in found if CHECK in each]


def of(*headers: dict[str, bytes]) -> dict[str, Sequence[TailRecord]]:
    """Return a topic whose records have these headers."""
    return {"orders": [record(offset, each) for offset, each in enumerate(headers)]}


def test_stamped_copies_are_told_topic_by_topic_with_their_origin() -> None:
    assert at_dc2({"orders": stamped(ORDERS), "pay/1": [*natives(3), *stamped(ORDERS[:2], first=3)]}) == [
        "OK orders, pay: stamped, from dc1; 22 of 25 records checked"
    ]


def test_each_topic_without_headers_is_named_though_others_have_them() -> None:
    assert at_dc2({"orders": stamped(ORDERS), "pay": natives(3), "eur": natives(2)}) == [
        "OK orders: stamped, from dc1; 20 of 20 records checked",
        "WARN eur, pay: none of 5 records checked has IDC and Offset; correct only if nothing is mirrored to this "
        "cluster yet; else correct section mirror",
    ]


def test_a_topic_is_right_without_headers_where_it_is_produced_and_only_there() -> None:
    logs = {"dc1": {"orders": ORDERS}, "dc2": {"orders": stamped(ORDERS)}}
    (headers,) = [each for each in said_at("dc1", known_config(), logs) if CHECK in each]
    assert headers == "OK mirror headers: orders: produced here; the copies elsewhere are stamped"
    # What dc2 produces as well should be here.
    logs["dc2"] = {"orders": [*stamped(ORDERS), record(20, value=b"own")]}
    assert "WARN mirror headers: orders: none of 20" in "".join(said_at("dc1", known_config(), logs))
    # What is wrong with the copies is told where they are.
    logs["dc2"] = {"orders": stamped(ORDERS, b"dc3")}
    assert "SKIP mirror headers: orders: probably produced here" in "".join(said_at("dc1", known_config(), logs))
    logs["dc2"] = {"orders": []}
    assert "WARN mirror headers: orders: none of 20" in "".join(said_at("dc1", known_config(), logs))


def test_copies_without_headers_are_told_by_the_same_records_at_both() -> None:
    logs = {"dc1": {"orders": ORDERS, "pay": ORDERS}, "dc2": {"orders": copied(ORDERS[10:]), "pay": stamped(ORDERS)}}
    (found,) = [each for each in said_between(known_config(), logs) if CHECK in each]
    assert found.startswith("FAIL mirror headers: orders: dc1 and dc2 have the same records without IDC and Offset")
    assert "docs/mirrors.md" in found
    # It is said once: no line of a cluster says "none".
    assert [each for each in said_at("dc2", known_config(), logs) if CHECK in each] == [
        "OK mirror headers: pay: stamped, from dc1; 20 of 20 records checked"
    ]


def test_records_that_are_alike_by_chance_are_no_copies() -> None:
    alike = [record(offset, value=b"beat", at_ms=5) for offset in range(9)]
    counted = [record(offset, at_ms=9_000 + offset) for offset in range(20)]
    for here, there in ((alike, alike), (ORDERS, counted)):
        logs = {"dc1": {"orders": here}, "dc2": {"orders": there}}
        assert [each for each in said_between(known_config(), logs) if CHECK in each] == []


def test_copies_from_before_the_mirror_stamped_are_forgiven() -> None:
    logs = {"dc1": {"orders": ORDERS}, "dc2": {"orders": [*copied(ORDERS[:10]), *stamped(ORDERS[10:], first=10)]}}
    assert [each for each in said_between(known_config(), logs) if CHECK in each] == []


def test_strategy_timestamp_asks_for_no_headers() -> None:
    timed = {"topics": {"include": [".*"], "strategy": "timestamp"}}
    logs = {"orders": copied(ORDERS)}
    assert at_dc2(logs, {"orders": ORDERS}, **timed) == [
        "SKIP orders: none has headers, and strategy timestamp needs none"
    ]
    between = said_between(known_config(**timed), {"dc1": {"orders": ORDERS}, "dc2": logs})
    assert [each for each in between if CHECK in each] == []


def test_headers_that_are_wrong_or_unknown_are_told_with_place_and_remedy() -> None:
    (unread,) = at_dc2(of(MIRRORED, {**MIRRORED, "Offset": b"x"}))[:1]
    assert unread == (
        "FAIL orders: 1 of 2 cannot be read, first orders-0 at offset 1: offset header is not a decimal number without "
        "sign; correct mirror.offset_encoding and the headers' names"
    )
    assert at_dc2({**of({**MIRRORED, "IDC": b"IDC9"}), "pay": stamped(ORDERS)}) == [
        "WARN orders: the origin IDC9: no cluster has this origin; set clusters.….origin to what the mirror writes",
        "OK pay: stamped, from dc1; 20 of 20 records checked",
    ]
    assert at_dc2({"orders": []}) == ["SKIP orders: no record there yet"]
    assert at_dc2({}) == ["SKIP no topic here whose copies are identified by headers"]


def test_what_a_wrong_converter_writes_is_told_as_such_and_as_nothing_else() -> None:
    for origin, offset, words in (
        (b"ZGMx", b"Nw==", "IDC is ZGMx, base64 of dc1, in 1 of 1"),
        (b'"ZGMx"', b'"Nw=="', 'IDC is "ZGMx", JSON with base64 of dc1, in 1 of 1'),
        (b'"dc1"', b'"7"', 'IDC is "dc1", JSON of dc1, in 1 of 1'),
        (b'{"schema": {}, "payload": "dc1"}', b"7", 'IDC is {"schema": {}, "payload": "dc1"}, JSON of dc1'),
        (b'{"payload": "ZGMx"}', b"7", 'IDC is {"payload": "ZGMx"}, JSON with base64 of dc1'),
        (b"[B@1b2c3d", b"[B@4f", "IDC is [B@…, Java's name of an array"),
    ):
        (found,) = at_dc2(of({"IDC": origin, "Offset": offset}))
        assert found.startswith(f"FAIL orders: {words}"), found
        assert "header.converter to org.apache.kafka.connect.converters.ByteArrayConverter" in found


def test_headers_that_were_handed_on_and_copies_without_a_place_are_told() -> None:
    here = {**MIRRORED, "Place": b"orders-0"}
    assert at_dc2(of(here), **PLACED) == ["OK orders: stamped, from dc1; 1 of 1 records checked"]
    handed_on = at_dc2(of(here, {**MIRRORED, "Place": b"payments-0"}), **PLACED)[0]
    assert handed_on.startswith("WARN orders: 1 of 2 have headers of a record of another log")
    without = at_dc2(of(MIRRORED), **PLACED)[0]
    assert "no place header" in without
    assert "leave mirror.place_header empty" in without


def test_headers_of_another_preset_are_told_with_its_name_and_topics() -> None:
    found = at_dc2({**of(REDPANDA, {}), "pay": stamped(ORDERS)})
    assert found[0] == (
        "WARN orders: 1 of 2 have redpanda-migrator-provenance and redpanda-migrator-offset, the headers of "
        "mirror.preset redpanda-migrator; set that preset if that mirror makes the copies"
    )
    # It is said once, also where the originals are known.
    logs = {"dc1": {"orders": ORDERS}, "dc2": {"orders": copied(ORDERS, REDPANDA)}}
    assert [each for each in said_between(known_config(), logs) if CHECK in each] == []
    assert len(at_dc2(logs["dc2"], logs["dc1"])) == 1
    assert len(at_dc2(of(MIRRORED, {"redpanda-migrator-offset": b"7"}))) == 1


def test_a_preset_that_is_spelled_out_is_not_advised() -> None:
    spelled = {"origin_header": "redpanda-migrator-provenance", "offset_header": "redpanda-migrator-offset"}
    clusters = {"dc1": {"origin": "id-1", "kafka": {"bootstrap.servers": "a:1"}}}
    clusters |= {"dc2": {"origin": "id-2", "kafka": {"bootstrap.servers": "b:2"}}}
    sections = {"clusters": clusters, "mirror": {**spelled, "offset_encoding": "int64"}}
    assert at_dc2(of(REDPANDA), **sections) == ["OK orders: stamped, from id-1; 1 of 1 records checked"]


def test_what_redpanda_migrator_brought_from_elsewhere_fails_with_the_remedy() -> None:
    known = known_config(mirror={"preset": "redpanda-migrator"}).with_ids({"dc1": "id-1", "dc2": "id-2"})
    other = {**REDPANDA, "redpanda-migrator-provenance": b"id-0"}
    cases = ((REDPANDA, "OK"), (other, "'id-0' is of no cluster"), (MIRRORED, "mirror.preset offset-sync"))
    for headers, words in cases:
        found = [each for each in said_at("dc2", known, {"dc1": {}, "dc2": of(headers)}) if CHECK in each]
        assert words in found[0]


def test_where_topics_have_other_names_headers_have_those_of_the_origin_and_lines_those_of_the_cluster() -> None:
    placed = {"mirror": {"place_header": "Place", "names": "mm2"}}
    here = {**MIRRORED, "Place": b"orders-0"}
    elsewhere, unreadable = {**here, "Place": b"dc1.orders-0"}, {**here, "Offset": b"x"}

    def copy_of(*headers: dict[str, bytes]) -> dict[str, Sequence[TailRecord]]:
        return {"dc1.orders": of(*headers)["orders"]}

    assert at_dc2(copy_of(here), **placed) == ["OK dc1.orders: stamped, from dc1; 1 of 1 records checked"]
    assert "passed on" in at_dc2(copy_of(here, elsewhere), **placed)[0]
    assert "first dc1.orders-0 " in at_dc2(copy_of(unreadable), **placed)[0]
    assert "dc1.orders: 1 of 2 have red" in at_dc2(copy_of(MIRRORED, REDPANDA), mirror={"names": "mm2"})[0]
    # Where it is produced headers say nothing.
    assert at_dc2(of(MIRRORED), mirror={"names": "mm2"}) == [
        "SKIP no topic here whose copies are identified by headers"
    ]


def test_a_copy_of_another_origin_than_its_name_says_fails_with_the_remedy() -> None:
    found = at_dc2({"dc1.orders": of({**MIRRORED, "IDC": b"IDC1"})["orders"]}, mirror={"names": "mm2"})[0]
    assert "first dc1.orders-0 at offset 0: another origin than the topic is named for" in found
    assert "set clusters.….origin to what the mirror writes, and mirror.names" in found


def test_in_a_topic_that_is_named_for_another_cluster_all_records_have_to_be_stamped() -> None:
    prefixed = {"mirror": {"names": "mm2"}}
    (found,) = at_dc2({"dc1.orders": copied(ORDERS)}, {"orders": ORDERS}, **prefixed)
    assert found.startswith("FAIL dc1.orders: none of 20 records checked has IDC and Offset, and by their name they")
    found = at_dc2({"dc1.orders": [*stamped(ORDERS), record(20)]}, {"orders": ORDERS}, **prefixed)[1]
    assert found.startswith("WARN dc1.orders: 1 of 21 have no headers, so they count as unread by all groups")
    assert len(at_dc2({"dc1.orders": stamped(ORDERS)}, {"orders": ORDERS}, **prefixed)) == 1


def test_a_line_about_many_topics_names_the_first_ones_and_json_has_them_all() -> None:
    config = known_config()
    topics = {f"topic-{number}": natives(2) for number in range(8)}
    found = judge_mirrors(config, asked(config, {"dc1": {}, "dc2": topics}))
    (line,) = [each for each in found if each.check == "mirror headers" and each.level is Level.WARN]
    assert line.text.startswith("topic-0, topic-1, topic-2 and 5 more: none of 16")
    assert line.to_json()["topics"] == sorted(topics)


def test_copies_that_name_their_own_cluster_as_origin_are_wrong() -> None:
    # The same offsets on both sides: each copy would be its own original.
    logs = {"dc1": {"orders": ORDERS}, "dc2": {"orders": stamped(ORDERS, b"dc2")}}
    found = said_at("dc2", known_config(), logs)
    assert [
        each for each in found if "orders" in each and each.startswith("OK") and "the same number" not in each
    ] == []
    (told,) = [each for each in found if CHECK in each]
    assert told.startswith("WARN mirror headers: orders: 20 of 20 name this cluster as their origin (dc2), as only")


def test_a_correct_or_unknown_origin_is_not_taken_for_wrapped() -> None:
    for value in (b"dc1", b"abcd", b"", b"dc9", b"\xff\xfe", b'{"payload": null}', b'{"payload": true}', b"[" * 900):
        assert wrapped_origin(value, KNOWN) == ""


def test_a_long_value_is_neither_parsed_nor_shown_whole() -> None:
    assert wrapped_origin(base64.b64encode(b"dc1" * 1000), KNOWN) == ""
    assert wrapped_origin(json.dumps({"schema": "x" * 1_000, "payload": "dc1"}).encode(), KNOWN) == ""
    assert len(wrapped_origin(json.dumps({"schema": "x" * 500, "payload": "dc1"}).encode(), KNOWN)) < 100
