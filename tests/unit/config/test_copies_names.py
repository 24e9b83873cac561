"""``strategy: identity`` where copies have other names: names that say where a stream is produced are believed."""

from __future__ import annotations

from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError

CLUSTERS = {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in ("dc1", "dc2")}
RULES = [{"from": "dc1", "to": "dc2", "topics": "linked-.*", "name": "copy.{topic}"}]


def parsed(names: Any, **topics: Any) -> Config:
    tree = {"clusters": CLUSTERS, "mirror": {"names": names}, "topics": {"include": ["linked-.*", "x"], **topics}}
    return parse_config(tree, {})


def test_prefixes_say_where_each_stream_is_produced_so_both_ways_are_possible() -> None:
    config = parsed("mm2", strategy="identity")
    streams = [config.names.inside("dc2", topic) for topic in ("dc1.linked-a", "linked-a")]
    assert streams == ["dc1.linked-a", "dc2.linked-a"]
    assert [config.original_of(each) for each in streams] == ["dc1", "dc2"]
    assert [config.is_timed(each) for each in streams] == [True, True]
    # What is no stream, or not included, is nobody's copy.
    assert config.original_of(config.names.inside("dc2", "heartbeats")) is None
    assert config.original_of("dc1.other") is None


def test_names_that_are_learned_are_known_to_a_configuration_with_the_ids_of_the_clusters() -> None:
    config = parse_config(
        {"clusters": CLUSTERS, "mirror": {"names": "mm2", "preset": "redpanda-migrator"}, "topics": {"include": ["x"]}},
        {},
    )
    assert config.with_origins({"dc1": "id-1", "dc2": "id-2"}).names is config.names


def test_an_origin_beside_prefixes_is_refused() -> None:
    line = "is what the names say where mirror.names is mm2; remove it"
    with pytest.raises(ConfigError) as caught:
        parsed("mm2", strategy="identity", origin="dc1")
    assert caught.value.problems == [f"topics.origin: {line}"]
    with pytest.raises(ConfigError) as caught:
        parsed("mm2", overrides=[{"topics": ["linked-.*"], "strategy": "identity", "origin": "dc1"}])
    assert caught.value.problems == [f"topics.overrides[0].origin: {line}"]


def test_with_rules_the_origin_is_that_of_topics_that_keep_their_name() -> None:
    config = parsed(RULES, strategy="identity", origin="dc2")
    renamed = config.names.inside("dc2", "copy.linked-a")
    assert renamed == config.names.inside("dc1", "linked-a")
    assert (config.original_of(renamed), config.original_of("x")) == ("dc1", "dc2")
    with pytest.raises(ConfigError, match=r"topics\.origin: is needed by strategy identity"):
        parsed(RULES, strategy="identity")
