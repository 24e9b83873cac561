"""``strategy: identity``: of which cluster the others hold copies, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from offset_sync.config import Config, load_config, parse_config
from offset_sync.model.errors import ConfigError

CLUSTERS = {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in ("dc1", "dc2", "dc3")}


def parsed(**topics: Any) -> Config:
    return parse_config({"clusters": CLUSTERS, "topics": {"include": [".*"], **topics}}, {})


def problems(**topics: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parsed(**topics)
    return caught.value.problems


def override(topics: str, **more: Any) -> dict[str, Any]:
    return {"topics": [topics], "strategy": "identity", **more}


def test_the_original_of_a_topic_is_that_of_the_override_that_matches_it() -> None:
    config = parsed(
        strategy="identity",
        origin="dc1",
        overrides=[override("a.*", origin="dc2"), {"topics": ["ab"], "strategy": "exact"}, override("b.*")],
    )
    assert [config.original_of(topic) for topic in ("a", "ab", "b", "c")] == ["dc2", "dc2", "dc1", "dc1"]
    assert config.is_timed("c")
    assert config.has_copies
    assert config.timed_topics() is not None


def test_other_topics_have_none_and_are_what_they_were() -> None:
    config = parsed(overrides=[override("linked-.*", origin="dc3"), {"topics": ["old"], "strategy": "timestamp"}])
    found = [(topic, config.strategy_of(topic), config.original_of(topic)) for topic in ("linked-a", "old", "orders")]
    assert found == [("linked-a", "identity", "dc3"), ("old", "timestamp", None), ("orders", "exact", None)]
    assert [config.is_timed(topic) for topic in ("linked-a", "old", "orders")] == [True, True, False]
    assert (parsed().has_copies, parsed().timed_topics()) == (False, None)


def test_an_original_is_needed() -> None:
    needed = "is needed by strategy identity; name the cluster of which the others hold copies, byte for byte"
    assert problems(strategy="identity") == [f"topics.origin: {needed}"]
    assert problems(overrides=[override("a"), override("b", origin="dc1")]) == [f"topics.overrides[0].origin: {needed}"]


def test_an_original_is_one_of_the_clusters() -> None:
    assert problems(strategy="identity", origin="dc9") == [
        "topics.origin: no cluster 'dc9'; use an alias below clusters"
    ]
    (line,) = problems(overrides=[override("a", origin="DC1")])
    assert line.startswith("topics.overrides[0].origin: no cluster 'DC1'")


def test_an_original_without_copies_is_a_mistake() -> None:
    assert problems(origin="dc1") == ["topics.origin: goes with strategy identity only; remove it"]
    (line,) = problems(overrides=[{"topics": ["a"], "strategy": "exact", "origin": "dc1"}])
    assert line.startswith("topics.overrides[0].origin: goes with strategy identity only")
    assert parsed(origin="dc1", overrides=[override("a")]).original_of("a") == "dc1"


def test_what_is_shown_loads_as_the_same_configuration(tmp_path: Path) -> None:
    config = parsed(origin="dc1", overrides=[override("a"), override("b", origin="dc2")])
    (tmp_path / "shown.yaml").write_text(yaml.safe_dump(config.redacted()))
    assert load_config(tmp_path / "shown.yaml") == config
