"""Durations as people write them: ``500ms``, ``1s``, ``10m``, ``12h``, ``2d``, or whole seconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

from offset_sync.config.problem import refused

_WRITTEN = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)?")
_UNITS = {
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
    written = _WRITTEN.fullmatch(str(value))
    if written is None:
        raise refused(f"{value!r} is not a duration; write it as 500ms, 1s, 10m, 12h or 2d")
    count, unit = int(written[1]), _UNITS[written[2] or "s"]
    if count > _LONGEST // unit:
        raise refused(f"{value!r} is too long; write at most 3650d")
    return count * unit


def format_duration(duration: timedelta) -> str:
    """Return *duration* in the largest unit that needs no fraction; ``parse_duration`` gives it back."""
    for name, unit in _UNITS.items():
        if duration and duration % unit == timedelta(0):
            return f"{duration // unit}{name}"
    return "0s"


def _parse_positive(value: object) -> timedelta:
    duration = parse_duration(value)
    if duration <= timedelta(0):
        raise refused("must be longer than 0s; write it as 500ms, 1s, 10m, 12h or 2d")
    return duration


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
PositiveDuration = Annotated[timedelta, BeforeValidator(_parse_positive)]


def to_ms(duration: timedelta) -> int:
    """Return a duration in milliseconds."""
    return int(duration.total_seconds() * 1000)
