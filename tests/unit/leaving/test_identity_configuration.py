"""``strategy: identity``: of which cluster the others hold copies, byte for byte; names that say it are believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Config, load_config
from offset_sync.model.errors import ConfigError

THREE = clusters("dc1", "dc2", "dc3")


def with_topics(**topics: Any) -> Config:
    return parsed(clusters=THREE, topics={"include": [".*"], **topics})


def topic_problems(**topics: Any) -> list[str]:
    return problems(clusters=THREE, topics={"include": [".*"], **topics})


def with_prefixes(**topics: Any) -> Config:
    return parsed(mirror={"names": "mm2"}, topics={"include": ["linked-.*", "x"], **topics})


def override(topics: str, **more: Any) -> dict[str, Any]:
    return {"topics": [topics], "strategy": "identity", **more}


def test_the_original_of_a_topic_is_that_of_the_override_that_matches_it() -> None:
    config = with_topics(
        strategy="identity",
        origin="dc1",
        overrides=[override("a.*", origin="dc2"), {"topics": ["ab"], "strategy": "exact"}, override("b.*")],
    )
    assert [config.original_of(topic) for topic in ("a", "ab", "b", "c")] == ["dc2", "dc2", "dc1", "dc1"]
    assert config.is_timed("c")
    assert config.has_copies
    assert config.timed_topics() is not None


def test_other_topics_have_none_and_are_what_they_were() -> None:
    config = with_topics(overrides=[override("linked-.*", origin="dc3"), {"topics": ["old"], "strategy": "timestamp"}])
    found = [(topic, config.strategy_of(topic), config.original_of(topic)) for topic in ("linked-a", "old", "orders")]
    assert found == [("linked-a", "identity", "dc3"), ("old", "timestamp", None), ("orders", "exact", None)]
    assert [config.is_timed(topic) for topic in ("linked-a", "old", "orders")] == [True, True, False]
    assert (with_topics().has_copies, with_topics().timed_topics()) == (False, None)


def test_an_original_is_needed() -> None:
    needed = "is needed by strategy identity; name the cluster of which the others hold copies, byte for byte"
    assert topic_problems(strategy="identity") == [f"topics.origin: {needed}"]
    assert topic_problems(overrides=[override("a"), override("b", origin="dc1")]) == [
        f"topics.overrides[0].origin: {needed}"
    ]


def test_an_original_is_one_of_the_clusters() -> None:
    assert topic_problems(strategy="identity", origin="dc9") == [
        "topics.origin: no cluster 'dc9'; use an alias below clusters"
    ]
    (line,) = topic_problems(overrides=[override("a", origin="DC1")])
    assert line.startswith("topics.overrides[0].origin: no cluster 'DC1'")


def test_an_original_without_copies_is_a_mistake() -> None:
    assert topic_problems(origin="dc1") == ["topics.origin: is for strategy identity only; remove it"]
    (line,) = topic_problems(overrides=[{"topics": ["a"], "strategy": "exact", "origin": "dc1"}])
    assert line.startswith("topics.overrides[0].origin: is for strategy identity only")
    assert with_topics(origin="dc1", overrides=[override("a")]).original_of("a") == "dc1"


def test_what_is_shown_loads_as_the_same_configuration(tmp_path: Path) -> None:
    config = with_topics(origin="dc1", overrides=[override("a"), override("b", origin="dc2")])
    (tmp_path / "shown.yaml").write_text(yaml.safe_dump(config.redacted()))
    assert load_config(tmp_path / "shown.yaml") == config


# Where copies have other names


def test_prefixes_say_where_each_stream_is_produced_so_both_ways_are_possible() -> None:
    config = with_prefixes(strategy="identity")
    streams = [config.names.inside("dc2", topic) for topic in ("dc1.linked-a", "linked-a")]
    assert streams == ["dc1.linked-a", "dc2.linked-a"]
    assert [config.original_of(each) for each in streams] == ["dc1", "dc2"]
    assert [config.is_timed(each) for each in streams] == [True, True]
    # A topic that is no stream, or not included, is no copy.
    assert config.original_of(config.names.inside("dc2", "heartbeats")) is None
    assert config.original_of("dc1.other") is None


def test_names_that_are_learned_are_known_to_a_configuration_with_the_ids_of_the_clusters() -> None:
    config = parsed(mirror={"names": "mm2", "preset": "redpanda-migrator"})
    assert config.with_ids({"dc1": "id-1", "dc2": "id-2"}).names is config.names


def test_an_origin_beside_prefixes_is_refused() -> None:
    line = "follows from the names where mirror.names is mm2; remove it"
    with pytest.raises(ConfigError) as caught:
        with_prefixes(strategy="identity", origin="dc1")
    assert caught.value.problems == [f"topics.origin: {line}"]
    with pytest.raises(ConfigError) as caught:
        with_prefixes(overrides=[{"topics": ["linked-.*"], "strategy": "identity", "origin": "dc1"}])
    assert caught.value.problems == [f"topics.overrides[0].origin: {line}"]
