"""How the JVM of this process has ended, if it has one; does not load pyspark."""

from __future__ import annotations

import sys
from types import ModuleType


def jvm_exit_code() -> int | None:
    """Return how it has ended; None as long as it runs, is not the child of this process, or was never started."""
    door = _door()
    code: int | None = None if door is None else door.jvm_exit_code()
    return code


def is_connection_lost(problem: BaseException | None) -> bool:
    """Return whether *problem* was caused by a broken connection to it."""
    door = _door()
    return False if door is None else bool(door.is_connection_lost(problem))


def _door() -> ModuleType | None:
    return sys.modules.get("offset_sync.spark.jvm")
