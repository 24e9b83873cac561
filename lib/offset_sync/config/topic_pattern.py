"""Which topics Spark shall read, as one expression: its source lists the topics anew for every micro-batch."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from offset_sync.config.name_patterns import java_any
from offset_sync.config.sections import Topics
from offset_sync.config.stream_names import Affix

_NOTHING = "(?!)"  # a Java expression that never matches


def topic_pattern(topics: Topics, without: Collection[str], affixes: Sequence[Affix]) -> str:
    """Return an expression for the names of included topics with one of *affixes*, but those named in *without*."""
    left_out = f"(?!{java_any(list(map(re.escape, sorted(without))))}$)" if without else ""
    ways = [f"{prefix}{_origin_pattern(topics, suffix)}" for prefix, suffix in affixes]
    return f"^(?!__){left_out}{ways[0] if len(ways) == 1 else java_any(ways)}$"


def _origin_pattern(topics: Topics, suffix: str) -> str:
    is_on = _NOTHING if topics.strategy == "off" else ""
    for override in reversed(topics.overrides):
        named = f"{java_any(override.topics)}{suffix}$"
        if override.strategy == "off":
            is_on = f"(?!{named}){is_on}"
        elif is_on:
            is_on = f"(?:(?={named})|(?!{named}){is_on})"
    excluded = f"(?!{java_any(topics.exclude)}{suffix}$)" if topics.exclude else ""
    return f"{excluded}{is_on}{java_any(topics.include)}{suffix}"
