"""The configuration as plain values that anybody may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

from pydantic import BaseModel, ByteSize

from offset_sync.config.duration import format_duration
from offset_sync.config.problem import KeyPath
from offset_sync.config.secret import HIDDEN, Secret
from offset_sync.config.size import format_size


def shown(value: object, path: KeyPath, hidden: Collection[KeyPath]) -> object:
    """Return *value*, which stands at *path*, as it would be written; ``***`` for secrets and what is *hidden*."""
    if path in hidden:
        return HIDDEN
    if isinstance(value, Secret):
        return HIDDEN if value else ""
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, ByteSize):
        return format_size(value)
    if isinstance(value, BaseModel):
        names = [name for name in type(value).model_fields if name != "origin" or getattr(value, name)]
        return {name: shown(getattr(value, name), (*path, name), hidden) for name in names}
    if isinstance(value, Mapping):
        return {key: shown(item, (*path, key), hidden) for key, item in value.items()}
    if isinstance(value, tuple):
        return [shown(item, (*path, index), hidden) for index, item in enumerate(value)]
    return value
