"""A small configuration of two clusters, and what the command check finds wrong with dc2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offset_sync.config import Config, parse_config
from offset_sync.model.finding import Finding


def config(**sections: Any) -> Config:
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in ("dc1", "dc2")}
    return parse_config({"clusters": clusters, "topics": {"include": ["orders"]}, **sections}, {})


def wrong(findings: Iterator[Finding]) -> dict[str, str]:
    """Return what is not OK, "LEVEL check" to text; all of it is about dc2."""
    found = list(findings)
    assert {each.place for each in found} == {"clusters.dc2"}
    told = [(f"{each.level.value} {each.check}", each.text) for each in found if each.level.value != "OK"]
    assert len(dict(told)) == len(told)
    return dict(told)
