"""What the configuration file may say, and what is said about one that is wrong, or of an earlier version."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Cluster, Config, Sync, Topics
from offset_sync.model.errors import ConfigError

DC1, DC2 = clusters("dc1", "dc2").values()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sync.yaml"


# A whole configuration


def test_the_least_configuration_has_the_documented_defaults() -> None:
    config = parsed()
    assert (config.mirror.origin_header, config.mirror.offset_header, config.mirror.offset_encoding) == (
        "IDC",
        "Offset",
        "text",
    )
    assert config.sync.refresh_interval == timedelta(hours=12)
    assert config.sync.home_silence == timedelta(minutes=5)
    assert config.sync.commit_timeout == timedelta(seconds=15)
    assert (config.index.starting, config.index.max_offsets_per_trigger) == ("earliest", 2_000_000)
    assert (config.tables.root, config.tables.checkpoints) == ("./data/tables", "./data/checkpoints")


def test_all_problems_are_reported_at_once_each_with_its_path_and_remedy() -> None:
    found = problems(
        clusters={"dc1": {"kafka": {}}, "no alias": DC2},
        topics={"include": ["("], "strategy": "exakt"},
        sync={"trigger_intervall": "1s", "commit_timeout": "soon"},
        directions=[["dc1", "dc9"]],
        tabels={},
    )
    assert sorted(line.split(": ")[0] for line in found) == [
        "clusters.dc1.kafka",
        "clusters.no alias",
        "directions[0]",
        "sync.commit_timeout",
        "sync.trigger_intervall",
        "tabels",
        "topics.include[0]",
        "topics.strategy",
    ]
    assert all("; " in line for line in found)


def test_rules_are_checked_beside_wrong_values_and_not_on_their_substitutes() -> None:
    found = problems(
        clusters={"dc1": {**DC1, "security": {"protocol": "TLS", "ca": "/ca"}}, "dc2": None, "dc3": {"origin": "dc1"}},
        topics={"include": "orders", "overrides": [{"topics": ["a"], "strategy": "header"}, {}]},
        directions=[["dc1", "dc2"], ["dc1", "dc1"]],
    )
    assert [line.split(": ")[0] for line in found] == [
        "clusters.dc1.security.protocol",
        "clusters.dc2",
        "topics.include",
        "topics.overrides[1].topics",
        "topics.overrides[1].strategy",
        "clusters.dc1.security.ca",
        "clusters.dc3.kafka",
        "clusters.dc3.origin",
        "directions[1]",
    ]


def test_a_missing_required_key_is_named() -> None:
    assert problems(topics={}) == ["topics.include: is missing; add it as in conf/reference.yaml"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"tabels": {}}, "tabels: unknown key; did you mean tables?"),
        ({"sync": {"triggerInterval": 1}}, "sync.triggerInterval: unknown key; did you mean trigger_interval?"),
        ({"index": {"zzz": 1}}, "index.zzz: unknown key; remove it, known here: max_offsets_per_trigger, starting, "),
        (
            {"topics": {"include": ["a"], "overrides": [{"topics": ["a"], "stategy": "off", "strategy": "off"}]}},
            "topics.overrides[0].stategy: unknown key; did you mean strategy?",
        ),
        (
            {"clusters": {"dc1": {**DC1, "orgin": "x"}, "dc2": DC2}},
            "clusters.dc1.orgin: unknown key; did you mean origin?",
        ),
    ],
)
def test_an_unknown_key_is_refused_and_the_nearest_known_one_named(changes: dict[str, object], line: str) -> None:
    found = problems(**changes)
    assert len(found) == 1
    assert found[0].startswith(line)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"sync": None}, "sync"),
        ({"clusters": {"dc1": DC1, "dc2": None}}, "clusters.dc2"),
        ({"topics": {"include": "orders"}}, "topics.include"),
        ({"topics": {"include": []}}, "topics.include"),
        ({"topics": {"include": [7]}}, "topics.include[0]"),
        ({"clusters": {"dc1": {**DC1, "origin": 1}, "dc2": DC2}}, "clusters.dc1.origin"),
        ({"clusters": {"dc1": {**DC1, "origin": ""}, "dc2": DC2}}, "clusters.dc1.origin"),
        ({"clusters": {"dc1": {"kafka": []}, "dc2": DC2}}, "clusters.dc1.kafka"),
        ({"clusters": []}, "clusters"),
        ({"mirror": {"offset_header": ""}}, "mirror.offset_header"),
        ({"mirror": {"offset_header": "IDC"}}, "mirror.offset_header"),
        ({"mirror": {"offset_header": ["IDC"]}}, "mirror.offset_header"),
        ({"mirror": {"flows": ""}}, "mirror.flows"),
        ({"mirror": {"offset_encoding": "utf8"}}, "mirror.offset_encoding"),
        ({"mirror": {"place_header": "IDC"}}, "mirror.place_header"),
        ({"mirror": {"place_header": "Offset"}}, "mirror.place_header"),
        ({"mirror": {"identity": "contents"}}, "mirror.identity"),
        ({"mirror": {"names": "mm3"}}, "mirror.names"),
        ({"mirror": {"names": None}}, "mirror.names"),
        ({"sync": {"requests_in_flight": 0}}, "sync.requests_in_flight"),
        ({"sync": {"requests_in_flight": True}}, "sync.requests_in_flight"),
        ({"sync": {"requests_in_flight": 1.5}}, "sync.requests_in_flight"),
        ({"index": {"max_offsets_per_trigger": 2**63}}, "index.max_offsets_per_trigger"),
        ({"index": {"starting": "now"}}, "index.starting"),
        ({"tables": {"root": ""}}, "tables.root"),
        ({"tables": {"root": "x", "checkpoints": "./x/"}}, "tables.checkpoints"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_once(changes: dict[str, object], path: str) -> None:
    found = problems(**changes)
    assert [line.split(": ")[0] for line in found] == [path]


def test_a_key_without_a_value_is_refused_with_the_remedy() -> None:
    assert problems(index={"starting": None}) == ["index.starting: is empty; give it a value or remove the line"]


# Clusters and directions


def test_one_cluster_is_an_error_as_there_is_nothing_to_sync_to() -> None:
    assert "nothing to sync to" in problems(clusters={"dc1": DC1})[0]


@pytest.mark.parametrize("alias", ["", "a b", "dc/1", "x" * 65, "..", ".", "dc1\n"])
def test_an_alias_that_is_no_safe_name_is_refused(alias: str) -> None:
    found = problems(clusters={alias: DC1, "dc2": DC2})
    assert len(found) == 1
    assert "not an alias" in found[0]


def test_an_origin_defaults_to_the_alias_and_maps_back_to_it() -> None:
    config = parsed(clusters={"dc1": {**DC1, "origin": "IDC1"}, "dc2": DC2})
    assert config.origins() == {"IDC1": "dc1", "dc2": "dc2"}
    assert config.clusters["dc2"].origin == "dc2"


@pytest.mark.parametrize(("one", "two"), [("same", "same"), ("dc2", "IDC2"), ("dc2", "dc1")])
def test_an_origin_that_could_mean_two_clusters_is_refused(one: str, two: str) -> None:
    found = problems(clusters={"dc1": {**DC1, "origin": one}, "dc2": {**DC2, "origin": two}})
    assert all(".origin: " in line for line in found)


def test_all_directions_are_every_ordered_pair() -> None:
    config = parsed(clusters={"a": DC1, "b": DC2, "c": DC2})
    assert config.pairs() == [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")]


@pytest.mark.parametrize(
    "directions",
    [[], "some", None, {}, 5, [["dc1"]], ["dc1", "dc2"], [["dc1", "dc3"]], [["dc1", "dc1"]], [["dc1", "dc2"]] * 2, [5]],
)
def test_directions_that_are_not_distinct_pairs_of_clusters_are_refused(directions: object) -> None:
    assert all(line.startswith("directions") for line in problems(directions=directions))


# The object


def test_a_configuration_may_be_put_together_in_python() -> None:
    both = {"dc1": Cluster(kafka=DC1["kafka"]), "dc2": Cluster(kafka=DC2["kafka"])}
    config = Config(clusters=both, topics=Topics(include=("orders",)), sync=Sync(hole_grace=timedelta(seconds=3)))
    assert config == parsed(sync={"hole_grace": "3s"})
    with pytest.raises(ConfigError, match=r"missing bootstrap\.servers"):
        Config(clusters={"dc1": both["dc1"], "dc2": Cluster()}, topics=config.topics)


def test_a_configuration_survives_the_way_to_an_executor() -> None:
    config = parsed({"T": "orders"}, topics={"include": ["${T}"]})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert repr(copy) == repr(config)


# Options and values of earlier versions


@pytest.mark.parametrize(
    ("sections", "remedy"),
    [
        ({"sync": {"deletes": None}}, "sync.deletes: was removed; remove the line: offsets that a group deleted"),
        ({"sync": {"metadata": "tag"}}, "sync.metadata: was removed; remove the line: commits carry empty metadata"),
        ({"mirror": {"preset": "lenses-k2k"}}, "mirror.preset: 'lenses-k2k' was removed: it was never tested with"),
        (
            {"topics": {"include": [".*"], "strategy": "identity"}},
            "topics.strategy: 'identity' was removed: what copies",
        ),
        ({"topics": {"include": [".*"], "origin": "dc1"}}, "topics.origin: was removed: what copies byte for byte"),
        (
            {"topics": {"include": [".*"], "overrides": [{"topics": ["a"], "strategy": "identity"}]}},
            "topics.overrides[0].strategy: 'identity' was removed: what copies byte for byte",
        ),
        (
            {"topics": {"include": [".*"], "overrides": [{"topics": ["a"], "strategy": "off", "origin": "dc1"}]}},
            "topics.overrides[0].origin: was removed: what copies byte for byte",
        ),
        ({"mirror": {"pipelines": {}}}, "mirror.pipelines: was removed together with mirror.preset lenses-k2k"),
        ({"mirror": {"names": [{"topic": "${X}"}]}}, "mirror.names: rules were removed; write mm2 if each copy has"),
        ({"index": {"deletes": "ignore"}}, "index.deletes: unknown key; remove it"),
    ],
)
def test_what_was_removed_is_refused_once_with_the_remedy(sections: dict[str, Any], remedy: str) -> None:
    (line,) = problems({"X": "secret"}, **sections)
    assert line.startswith(remedy)
    found = problems(sync={"deletes": "ignore", "metadata": "tag", "hole_grace": "soon"}, tabels={})
    assert {each.split(": ")[0] for each in found} == {"sync.deletes", "sync.metadata", "sync.hole_grace", "tabels"}


POLLED = {**clusters("dc2"), "dc1": {**DC1, "commits": "admin"}}


def test_a_home_is_not_silent_before_its_second_poll() -> None:
    (line,) = problems(clusters=POLLED, sync={"home_silence": "9s", "poll_interval": "5s"})
    assert line.startswith("sync.home_silence: is less than twice sync.poll_interval")
    for silence in ("10s", "0s"):
        assert parsed(clusters=POLLED, sync={"home_silence": silence, "poll_interval": "5s"}).polled() == {"dc1"}
    assert parsed(sync={"home_silence": "9s", "poll_interval": "5s"}).polled() == frozenset()
