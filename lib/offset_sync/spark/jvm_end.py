"""How the JVM of this process has ended, if it has one; does not load pyspark."""

from __future__ import annotations

import sys
from types import ModuleType


def jvm_exit_code() -> int | None:
    """Return how it has ended; None as long as it runs, is not the child of this process, or was never started."""
    jvm = _loaded_jvm()
    code: int | None = None if jvm is None else jvm.jvm_exit_code()
    return code


def is_connection_lost(problem: BaseException | None) -> bool:
    """Return whether *problem* was caused by a broken connection to it."""
    jvm = _loaded_jvm()
    return False if jvm is None else bool(jvm.is_connection_lost(problem))


def _loaded_jvm() -> ModuleType | None:
    return sys.modules.get("offset_sync.spark.jvm")
