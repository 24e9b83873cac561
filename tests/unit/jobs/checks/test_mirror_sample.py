"""What the command check makes of the headers of sampled records, and of the clusters' own ids."""

from __future__ import annotations

from typing import Any

from builders.check_findings import config, wrong
from offset_sync.config import parse_config
from offset_sync.jobs.checks.cluster_ids import judge_id
from offset_sync.jobs.checks.mirror_sample import judge_sample
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition


def sampled(*headers: dict[str, bytes], **sections: Any) -> dict[str, str]:
    records = [RecordContent(n, 0, None, None, tuple(each.items())) for n, each in enumerate(headers)]
    sample = [(TopicPartition("orders", 0), record) for record in records]
    return wrong(judge_sample(config(**sections), "dc2", sample))


MIRRORED = {"IDC": b"dc1", "Offset": b"7"}


def test_headers_of_the_mirror_are_found_among_records_without() -> None:
    (found,) = judge_sample(
        config(), "dc2", [(TopicPartition("orders", 0), RecordContent(3, 0, None, None, tuple(MIRRORED.items())))]
    )
    assert (found.level.value, found.text) == ("OK", "1 of 1 records looked at, from dc1")
    assert sampled(MIRRORED, {}) == {}


def test_headers_that_are_missing_wrong_or_unknown_are_told() -> None:
    assert "has IDC and Offset" in sampled({}, {"trace": b"1"})["WARN mirror headers"]
    unread = sampled({**MIRRORED, "Offset": b"x"})["FAIL mirror headers"]
    assert "1 of 1 cannot be read, first orders-0" in unread
    assert "mirror.offset_encoding" in unread
    unknown = sampled({**MIRRORED, "IDC": b"IDC9"})["WARN mirror headers"]
    assert unknown.startswith("IDC9: no cluster has this origin")
    assert list(sampled()) == ["SKIP mirror headers"]
    assert wrong(judge_sample(config(), "dc2", ClusterError("dc2", "x"))) == {"FAIL mirror headers": "x"}


def test_headers_that_were_handed_on_and_copies_without_a_place_are_told() -> None:
    placed: dict[str, Any] = {"mirror": {"place_header": "Place"}}
    assert sampled({**MIRRORED, "Place": b"orders-0"}, **placed) == {}
    handed_on = sampled({**MIRRORED, "Place": b"orders-0"}, {**MIRRORED, "Place": b"payments-0"}, **placed)
    assert handed_on["WARN mirror headers"].startswith("1 of 2 have headers of a record of another place")
    without = sampled(MIRRORED, **placed)["FAIL mirror headers"]
    assert "no place header" in without
    assert "leave mirror.place_header empty" in without


REDPANDA = {"redpanda-migrator-provenance": b"id-1", "redpanda-migrator-offset": (7).to_bytes(8, "big")}
LENSES = {"k2k_pipeline": b"one", "k2k_offset": b"7", "k2k_topic": b"orders", "k2k_partition": b"0"}
OF_LENSES: dict[str, Any] = {"mirror": {"preset": "lenses-k2k", "pipelines": {"one": "dc1"}}}


def test_headers_of_another_preset_are_told_with_its_name() -> None:
    found = sampled(MIRRORED, REDPANDA, {})
    assert found["WARN mirror headers"] == (
        "1 of 3, of orders, have redpanda-migrator-provenance and redpanda-migrator-offset, the headers of "
        "mirror.preset redpanda-migrator; set it if that mirror makes the copies"
    )
    assert "mirror.preset lenses-k2k" in sampled(LENSES, MIRRORED)["WARN mirror headers"]
    assert "mirror.preset offset-sync" in sampled(MIRRORED, LENSES, **OF_LENSES)["WARN mirror headers"]
    assert sampled(MIRRORED, {"k2k_offset": b"7"}) == {}


def test_a_preset_that_is_spelled_out_is_not_advised() -> None:
    spelled = {"origin_header": "redpanda-migrator-provenance", "offset_header": "redpanda-migrator-offset"}
    clusters = {"dc1": {"origin": "id-1", "kafka": {"bootstrap.servers": "a:1"}}}
    clusters |= {"dc2": {"origin": "id-2", "kafka": {"bootstrap.servers": "b:2"}}}
    tree = {"clusters": clusters, "mirror": {**spelled, "offset_encoding": "int64"}, "topics": {"include": ["orders"]}}
    record = RecordContent(0, 0, None, None, tuple(REDPANDA.items()))
    found = judge_sample(parse_config(tree, {}), "dc2", [(TopicPartition("orders", 0), record)])
    assert [(each.level.value, each.text) for each in found] == [("OK", "1 of 1 records looked at, from id-1")]


def test_what_redpanda_migrator_brought_from_elsewhere_fails_with_the_remedy() -> None:
    known = config(mirror={"preset": "redpanda-migrator"}).with_origins({"dc1": "id-1", "dc2": "id-2"})
    other = {**REDPANDA, "redpanda-migrator-provenance": b"id-0"}
    for headers, words in ((REDPANDA, ""), (other, "'id-0' is of no cluster"), (MIRRORED, "mirror.preset offset-sync")):
        record = RecordContent(0, 0, None, None, tuple(headers.items()))
        found = wrong(judge_sample(known, "dc2", [(TopicPartition("orders", 0), record)]))
        assert words in " ".join(found.values())
        assert bool(found) == bool(words)


def test_what_lenses_stamps_is_judged_with_its_place_and_pipelines() -> None:
    assert sampled(LENSES, {}, **OF_LENSES) == {}
    assert "handed on" in sampled(LENSES, {**LENSES, "k2k_partition": b"1"}, **OF_LENSES)["WARN mirror headers"]
    unplaced = {name: value for name, value in LENSES.items() if name != "k2k_topic"}
    assert "k2k_topic and k2k_partition" in sampled(unplaced, **OF_LENSES)["FAIL mirror headers"]
    assert "give mirror.pipelines all" in sampled({**LENSES, "k2k_pipeline": b"x"}, **OF_LENSES)["FAIL mirror headers"]
    as_integer = {**LENSES, "k2k_offset": (7).to_bytes(8, "big"), "k2k_partition": bytes(4)}
    assert "set mirror.offset_encoding" in sampled(as_integer, **OF_LENSES)["FAIL mirror headers"]


def of_ids(said: str | ClusterError, preset: str = "redpanda-migrator", **origins: str) -> dict[str, str]:
    known = config(mirror={"preset": preset}).with_origins(origins)
    return {f"{each.level.value} {each.check}": each.text for each in judge_id(known, "dc2", {"dc2": said})}


def test_a_clusters_own_id_is_told_beside_what_the_configuration_has() -> None:
    assert of_ids("id-2") == {"OK cluster id": "id-2, as redpanda-migrator-provenance has to name it"}
    assert of_ids("id-2", dc2="id-2") == of_ids("id-2")
    assert "clusters.dc2.origin is id-9" in of_ids("id-2", dc2="id-9")["WARN cluster id"]
    silent = ClusterError("dc2", "no answer")
    assert of_ids(silent)["FAIL cluster id"].startswith("no answer; or set clusters.dc2.origin to what redpanda-")
    assert list(of_ids(silent, dc2="id-2")) == ["SKIP cluster id"]
    assert list(judge_id(config(), "dc1", {})) == []


RULES = [{"from": "dc1", "to": "dc2", "topics": "orders", "name": "{topic}.copy"}]


def named(topic: str, *headers: dict[str, bytes], **mirror: Any) -> dict[str, str]:
    """Return what is said of records of what dc2 calls *topic*."""
    known = config(mirror=mirror)
    place = TopicPartition(known.names.inside("dc2", topic), 0)
    records = [RecordContent(n, 0, None, None, tuple(each.items())) for n, each in enumerate(headers)]
    return wrong(judge_sample(known, "dc2", [(place, record) for record in records]))


def test_where_topics_have_other_names_headers_have_those_of_the_origin_and_lines_those_of_the_cluster() -> None:
    of_lenses = {"preset": "lenses-k2k", "pipelines": {"one": "dc1"}, "names": RULES}
    elsewhere, unreadable = {**LENSES, "k2k_topic": b"orders.copy"}, {**LENSES, "k2k_offset": b"x"}
    assert named("orders.copy", LENSES, **of_lenses) == {}
    assert "handed on" in named("orders.copy", LENSES, elsewhere, **of_lenses)["WARN mirror headers"]
    assert "first orders.copy-0 " in named("orders.copy", unreadable, **of_lenses)["FAIL mirror headers"]
    assert "of orders.copy, have red" in named("orders.copy", MIRRORED, REDPANDA, names=RULES)["WARN mirror headers"]
    # Where it is produced headers say nothing.
    assert list(named("orders", LENSES, **{**of_lenses, "names": "mm2"})) == ["SKIP mirror headers"]


def test_a_copy_of_another_origin_than_its_name_says_fails_with_the_remedy() -> None:
    found = named("dc1.orders", {**MIRRORED, "IDC": b"IDC1"}, names="mm2")["FAIL mirror headers"]
    assert "first dc1.orders-0 another origin than the topic is named for" in found
    assert "set clusters.….origin to what the mirror writes, and mirror.names" in found
