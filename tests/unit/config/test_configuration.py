"""What the configuration file may say, and what is said about one that is wrong."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.config import Cluster, Config, Sync, Topics, load_config, parse_config
from offset_sync.config.duration import format_duration, parse_duration
from offset_sync.model.errors import ConfigError

DC1 = {"kafka": {"bootstrap.servers": "a:1"}}
DC2 = {"kafka": {"bootstrap.servers": "b:2"}}


def parsed(**changes: object) -> Config:
    return parse_config({"clusters": {"dc1": DC1, "dc2": DC2}, "topics": {"include": ["orders"]}, **changes}, {})


def problems(**changes: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parsed(**changes)
    return caught.value.problems


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


def test_a_missing_required_key_is_named() -> None:
    assert problems(topics={}) == ["topics.include: is missing; add it as in conf/reference.yaml"]


def test_missing_brokers_are_named_with_the_remedy() -> None:
    line = "clusters.dc1.kafka: missing bootstrap.servers; add the cluster's brokers as host:port"
    assert problems(clusters={"dc1": {}, "dc2": DC2}) == [line]


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
        ({"mirror": {"offset_encoding": "utf8"}}, "mirror.offset_encoding"),
        ({"mirror": {"place_header": "IDC"}}, "mirror.place_header"),
        ({"mirror": {"place_header": "Offset"}}, "mirror.place_header"),
        ({"mirror": {"identity": "contents"}}, "mirror.identity"),
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


def test_two_empty_headers_are_empty_and_not_also_the_same() -> None:
    found = problems(mirror={"origin_header": "", "offset_header": ""})
    assert [line.split(": ")[0] for line in found] == ["mirror.origin_header", "mirror.offset_header"]


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


def test_listed_directions_are_kept_in_their_order() -> None:
    assert parsed(directions=[["dc2", "dc1"]]).pairs() == [("dc2", "dc1")]


@pytest.mark.parametrize(
    "directions",
    [[], "some", None, {}, 5, [["dc1"]], ["dc1", "dc2"], [["dc1", "dc3"]], [["dc1", "dc1"]], [["dc1", "dc2"]] * 2, [5]],
)
def test_directions_that_are_not_distinct_pairs_of_clusters_are_refused(directions: object) -> None:
    assert all(line.startswith("directions") for line in problems(directions=directions))


# Durations


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1s", 1), ("500ms", 0.5), ("12h", 43200), ("10m", 600), ("0s", 0), ("2d", 172800), (7, 7), ("7", 7), (0, 0)],
)
def test_a_duration_is_a_number_with_a_unit_or_whole_seconds(written: object, seconds: float) -> None:
    assert parsed(sync={"hole_grace": written}).sync.hole_grace == timedelta(seconds=seconds)


@pytest.mark.parametrize("written", ["", "s", "-1s", -1, "1.5s", 1.5, "1 s", "1w", True, "1s ", "9" * 15, [], "٣s"])
def test_anything_else_is_no_duration(written: object) -> None:
    assert problems(sync={"hole_grace": written})[0].startswith("sync.hole_grace: ")


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)))
def test_a_shown_duration_reads_back_as_itself(duration: timedelta) -> None:
    whole = timedelta(milliseconds=duration // timedelta(milliseconds=1))
    assert parse_duration(format_duration(whole)) == whole


@pytest.mark.parametrize("name", ["reconcile_interval", "refresh_interval", "commit_timeout"])
def test_no_duration_at_all_is_refused_where_it_makes_no_sense(name: str) -> None:
    assert problems(sync={name: "0s"})[0].startswith(f"sync.{name}: must be longer than 0s")


@pytest.mark.parametrize("name", ["trigger_interval", "hole_grace", "idle_after", "home_silence"])
def test_no_duration_at_all_is_accepted_where_it_has_a_meaning(name: str) -> None:
    assert getattr(parsed(sync={name: "0s"}).sync, name) == timedelta(0)


# The object


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        parsed().sync.requests_in_flight = 7  # type: ignore[misc]


def test_a_configuration_may_be_put_together_in_python() -> None:
    clusters = {"dc1": Cluster(kafka={"bootstrap.servers": "a:1"}), "dc2": Cluster(kafka={"bootstrap.servers": "b:2"})}
    config = Config(clusters=clusters, topics=Topics(include=("orders",)), sync=Sync(hole_grace=timedelta(seconds=3)))
    assert config == parsed(sync={"hole_grace": "3s"})
    with pytest.raises(ConfigError, match=r"missing bootstrap\.servers"):
        Config(clusters={"dc1": clusters["dc1"], "dc2": Cluster()}, topics=config.topics)


def test_a_configuration_survives_the_way_to_an_executor() -> None:
    config = parse_config({"clusters": {"dc1": DC1, "dc2": DC2}, "topics": {"include": ["${T}"]}}, {"T": "orders"})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert repr(copy) == repr(config)


def test_the_shown_configuration_loads_as_the_same_configuration(path: Path) -> None:
    config = parsed(directions=[["dc1", "dc2"]], sync={"hole_grace": 90})
    path.write_text(yaml.safe_dump(config.redacted()))
    assert load_config(path) == config
