"""Text for a configuration file: keys and values that arrive as they are when the file is read."""

from __future__ import annotations

import re

import yaml


def yaml_key(text: str) -> str:
    """Return a key, in quotes unless it is a plain word to every version of YAML."""
    is_plain = re.fullmatch(r"[a-z][a-z0-9.-]*", text) is not None and yaml.safe_load(text) == text
    return text if is_plain else yaml_value(text)


def yaml_value(text: str) -> str:
    """Return a text value, in double quotes, on one line."""
    return str(yaml.safe_dump(text, default_style='"', width=float("inf"))).strip()
