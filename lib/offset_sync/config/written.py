"""Text for a configuration file: values arrive as they are when the file is read."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import yaml


def to_yaml(tree: Mapping[str, object]) -> str:
    """Return *tree* as YAML, without a line break at its end."""
    return yaml.safe_dump(tree, sort_keys=False, width=inf).rstrip()
