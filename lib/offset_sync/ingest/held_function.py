"""A function for foreachBatch that lets go of what it holds: Spark keeps it until its JVM collects garbage, if ever."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame


class HeldFunction:
    """Calls *function*, which may hold all that a job knows, until it is to :meth:`let_go`."""

    def __init__(self, function: Callable[[DataFrame, int], None]) -> None:
        self._function: Callable[[DataFrame, int], None] | None = function

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Do as the function does; RuntimeError, and the micro-batch comes again, where nobody is left to do it."""
        if (function := self._function) is None:
            raise RuntimeError("the job whose micro-batch this is has ended")
        function(batch, batch_id)

    def let_go(self) -> None:
        """Hold nothing more."""
        self._function = None
