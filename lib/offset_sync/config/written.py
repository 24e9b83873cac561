"""Text for a configuration file: values arrive as they are when the file is read."""

from __future__ import annotations

from collections.abc import Mapping

import yaml


def to_yaml(tree: Mapping[str, object]) -> str:
    """Return *tree* as YAML, without a line break at its end."""
    return yaml.safe_dump(dict(tree), sort_keys=False, width=float("inf")).rstrip("\n")
