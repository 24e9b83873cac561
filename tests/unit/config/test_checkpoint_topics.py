"""Where MirrorMaker's checkpoints are looked for."""

from __future__ import annotations

from typing import Any

from offset_sync.config import parse_config
from offset_sync.config.prefix_names import checkpoint_topics


def topics_of(cluster: dict[str, Any] | None = None, **mirror: object) -> tuple[str, ...]:
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in ("dc1", "dc2")}
    clusters["dc1"] |= cluster or {}
    tree = {"clusters": clusters, "topics": {"include": ["orders"]}, "mirror": mirror}
    return checkpoint_topics(parse_config(tree, {}), "dc1")


def test_by_default_it_is_the_alias() -> None:
    assert topics_of() == ("dc1.checkpoints.internal",)


def test_the_mirrors_alias_is_in_names_or_in_the_header() -> None:
    assert topics_of({"mirror_alias": "us-east"}, names="mm2")[0] == "us-east.checkpoints.internal"
    assert "east.checkpoints.internal" in topics_of({"origin": "east"})


def test_its_separator_may_be_another_or_not_in_its_own_topics() -> None:
    assert topics_of(names="mm2", separator="_") == ("dc1_checkpoints_internal", "dc1.checkpoints.internal")


def test_where_another_mirror_copies_there_are_none() -> None:
    assert topics_of(preset="redpanda-migrator") == ()
