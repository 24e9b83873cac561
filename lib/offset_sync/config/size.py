"""Sizes of memory as people write them: ``512MiB``, ``2GiB``, or bytes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ByteSize

from offset_sync.config.problem import refused

_WRITTEN = re.compile("[0-9]{1,15} ?([KMGT]i?)?B?")
DEFAULT_SIZE = ByteSize(512 << 20)
_LEAST = 16 << 20
_UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}


def _is_written(value: object) -> object:
    if isinstance(value, bool) or not _WRITTEN.fullmatch(str(value)):
        raise refused(f"{value!r} is no size; write it as 512MiB or 2GiB")
    return value


def _is_enough(size: ByteSize) -> ByteSize:
    if size < _LEAST:
        raise refused("is too small; write at least 16MiB")
    return size


def format_size(size: int) -> str:
    """Return *size*, in bytes, in the largest unit that needs no fraction."""
    return next((f"{size // unit}{name}" for name, unit in _UNITS.items() if size % unit == 0), str(size))


Size = Annotated[ByteSize, BeforeValidator(_is_written), AfterValidator(_is_enough)]
