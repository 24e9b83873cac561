"""Durations and sizes as people write them: ``500ms``, ``1s``, ``10m``, ``12h``, ``2d``; ``512MiB``, ``2GiB``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, ByteSize, Field

from offset_sync.config.problems import refused

_DURATION = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)?")
_DURATIONS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_LONGEST = timedelta(days=3650)


def parse_duration(value: object) -> timedelta:
    """Return *value* as a duration; whole numbers, with or without quotes, are seconds."""
    if isinstance(value, timedelta):
        return value
    written = _DURATION.fullmatch(str(value))
    if written is None:
        raise refused(f"{value!r} is not a duration; write it as 500ms, 1s, 10m, 12h or 2d")
    count, unit = int(written[1]), _DURATIONS[written[2] or "s"]
    if count > _LONGEST // unit:
        raise refused(f"{value!r} is too long; write at most 3650d")
    return count * unit


def to_ms(duration: timedelta) -> int:
    """Return a duration in milliseconds."""
    return int(duration.total_seconds() * 1000)


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
PositiveDuration = Annotated[Duration, Field(gt=timedelta(0))]
Size = Annotated[ByteSize, Field(ge=16 << 20)]
