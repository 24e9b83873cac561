"""Logs what a repeatedly failing micro-batch reads, and the record that makes it fail, if there is one."""

from __future__ import annotations

import logging
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from offset_sync.ingest.checkpoint import OffsetRanges
from offset_sync.ingest.commit_batch import LogRows
from offset_sync.ingest.query_errors import first_line, reason_of
from offset_sync.ingest.query_supervisor import BatchFunction
from offset_sync.model.errors import OffsetSyncError, OtherClusterError
from offset_sync.model.values import CONSUMER_OFFSETS

logger = logging.getLogger(__name__)
TIMES = 3
"""After so many failures of the same micro-batch it is examined, once."""
_MOST_PARTITIONS = 5


class Step(Protocol):
    """What a query does with a micro-batch."""

    def ranges(self, batch_id: int) -> OffsetRanges:
        """Return what the micro-batch reads."""

    def forget_plan(self) -> None:
        """Have the micro-batch planned again."""

    def try_rows(self, rows: pa.RecordBatch) -> None:
        """Do what is done with the rows of a micro-batch, and write nothing."""


class FailingBatches:
    """Counts the failures of the current micro-batch of the query of the cluster *alias*, across restarts."""

    def __init__(self, alias: str, again: LogRows) -> None:
        self._alias, self._again = alias, again
        self._batch_id, self._times = -1, 0

    def guard(self, function: BatchFunction, step: Step) -> BatchFunction:
        """Return *function* for foreachBatch; its errors are raised again, and logged with details the third time."""

        def guarded(batch: DataFrame, batch_id: int) -> None:
            try:
                function(batch, batch_id)
            except Exception as problem:
                if OtherClusterError.__name__ in f"{type(problem).__name__} {problem}":  # of a task: as text
                    step.forget_plan()
                self._times = self._times + 1 if batch_id == self._batch_id else 1
                self._batch_id = batch_id
                if self._times == TIMES:
                    self._tell(batch_id, step, problem)
                raise
            self._times = 0

        return guarded

    def _tell(self, batch_id: int, step: Step, problem: Exception) -> None:
        found = self._found(batch_id, step, problem)
        text = "clusters.%s: micro-batch %d has failed %d times: %s; %s"
        logger.error(text, self._alias, batch_id, TIMES, reason_of(problem), found)

    def _found(self, batch_id: int, step: Step, problem: Exception) -> str:
        """Return a text that says what the micro-batch reads, and at which record *step* fails, or at none."""
        try:
            ranges = step.ranges(batch_id)
        except Exception as another:  # the first error counts
            return f"what it reads is not known: {first_line(str(another))}"
        found = f"it reads {to_text(ranges)}"
        if isinstance(problem, OffsetSyncError):  # what we raise ourselves names its place
            return found
        try:
            for rows in self._again.rows(ranges):
                if (its_problem := _failure(step, rows)) is not None:
                    return f"{found}; {_blame(step, rows, its_problem)}"
        except Exception as another:
            return f"{found}; whether a record is to blame is not known: {first_line(str(another))}"
        return f"{found}; each record of it can be read and decoded, so none is to blame"


def to_text(ranges: OffsetRanges) -> str:
    """Return which offsets are read."""
    read = [(place, each) for place, each in sorted(ranges.items()) if each.end > each.start]
    texts = [f"{place.topic}-{place.partition} from {each.start} to {each.end}" for place, each in read]
    more = [f"{len(texts) - _MOST_PARTITIONS} more partitions"] if len(texts) > _MOST_PARTITIONS else []
    return ", ".join(texts[:_MOST_PARTITIONS] + more) or "nothing"


def _blame(step: Step, rows: pa.RecordBatch, problem: Exception) -> str:
    """Return the first record of *rows* that fails alone, or all of them, which cause the *problem* together."""
    first, last = 0, rows.num_rows - 1
    for number in range(rows.num_rows):
        if (its_problem := _failure(step, rows.slice(number, 1))) is not None:
            first, last, problem = number, number, its_problem
            break
    offsets = rows.column("offset").to_pylist()
    where = f"offset {offsets[first]}" if first == last else f"the offsets from {offsets[first]} to {offsets[last]}"
    topic = rows.column("topic")[first].as_py() if "topic" in rows.schema.names else CONSUMER_OFFSETS
    return f"it fails at {topic}-{rows.column('partition')[first].as_py()} {where}: {reason_of(problem)}"


def _failure(step: Step, rows: pa.RecordBatch) -> Exception | None:
    try:
        step.try_rows(rows)
    except Exception as problem:
        return problem
    return None
