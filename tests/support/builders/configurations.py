"""Configurations of two clusters and one topic, or of what is said instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError


def clusters(*aliases: str) -> dict[str, dict[str, Any]]:
    """Return the section of clusters with these *aliases*."""
    return {alias: {"kafka": {"bootstrap.servers": f"{alias}:1"}} for alias in aliases}


def parsed(environment: Mapping[str, str] | None = None, **sections: Any) -> Config:
    """Return the configuration with these *sections*; ``${NAME}`` is looked up in *environment*."""
    tree = {"clusters": clusters("dc1", "dc2"), "topics": {"include": ["orders"]}, **sections}
    return parse_config(tree, environment or {})


def problems(environment: Mapping[str, str] | None = None, **sections: Any) -> list[str]:
    """Return the lines with which such a configuration is refused."""
    with pytest.raises(ConfigError) as caught:
        parsed(environment, **sections)
    return caught.value.problems
