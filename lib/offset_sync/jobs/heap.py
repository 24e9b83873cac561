"""What this process does with memory that it has freed: it keeps some of it, for it asks for as much again at once.

glibc gives arrays of some megabytes back to the system as soon as nobody has them, and gives each thread a heap of its
own, of which it does the same. Whoever reads the index makes thousands of such arrays, and the system fills each page
of them with zeros anew: a third of what a start costs. With one heap for all threads the process is not larger.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""As ``malloc.h`` has them."""
_SMALLEST_MAPPED = 32 << 20
"""Larger arrays are the system's as before; glibc takes no greater number."""
_KEPT = 64 << 20


def keep_freed_memory(environment: Mapping[str, str] = os.environ) -> bool:
    """Have the process keep up to 64 MiB that it has freed; return whether it will.

    Not where the *environment* has settings for it, and not with another C library. To be called before there are
    threads: those that have a heap of their own stay with it.
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in environment):
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    options = {_ARENA_MAX: 1, _MMAP_THRESHOLD: _SMALLEST_MAPPED, _TRIM_THRESHOLD: _KEPT}
    return {bool(set_option(option, value)) for option, value in options.items()} == {True}
