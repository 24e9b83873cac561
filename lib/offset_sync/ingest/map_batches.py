"""Where the records of a micro-batch are handled: in the tasks that read them or, if they are few, in the driver."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS, are_few

MapBatches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Works on the Arrow batches of one task; pickled to the executors."""

_SQL_TYPES = {"string": "string", "bool": "boolean", "int16": "smallint", "int32": "int", "int64": "bigint"}
_SQL_TYPES |= {"binary": "binary", "timestamp[us, tz=UTC]": "timestamp"}
ATTEMPT = "attempt"
"""The extra column of rows made by tasks: a random number per attempt. Two attempts may read different records."""


def map_batches(records: DataFrame, function: MapBatches, schema: pa.Schema, clusters: int, at_most: int) -> pa.Table:
    """Return what *function* makes of *records*, rows of *schema*; *at_most* bounds their number.

    The records of a Kafka partition come in order and one after the other, in tasks and in the driver.
    """
    shared = in_its_share(records, clusters)
    if not are_few(at_most):
        return shared.mapInArrow(function, to_sql(schema)).toArrow()
    return pa.Table.from_batches(list(function(iter(shared.toArrow().to_batches()))), schema)


def has_executors(records: DataFrame) -> bool:
    """Return whether tasks run outside the driver's process, so that the rows they keep cost it nothing."""
    return re.fullmatch(r"local(\[.*\])?", str(records.sparkSession.sparkContext.master)) is None


def few_rows(frame: DataFrame) -> pa.Table | None:
    """Return all rows of *frame*, in no order; None if they are more than the driver collects."""
    found = frame.limit(DRIVER_MAX_RECORDS + 1).toArrow()
    return found if are_few(found.num_rows) else None


def in_its_share(records: DataFrame, clusters: int) -> DataFrame:
    """Return *records* in no more tasks than the cluster's share of the slots.

    Otherwise tasks that wait for a dead broker could take all slots, and one cluster would block the others.
    """
    return records.coalesce(task_share(records, clusters))


def task_share(records: DataFrame, clusters: int) -> int:
    """Return how many task slots each of *clusters* has."""
    return max(1, records.sparkSession.sparkContext.defaultParallelism // clusters)


def to_sql(schema: pa.Schema) -> str:
    """Return an Arrow schema as a Spark schema string."""
    return ", ".join(f"`{field.name}` {_SQL_TYPES[str(field.type)]}" for field in schema)


@dataclass(frozen=True)
class Signed:
    """Applies *function* and adds :data:`ATTEMPT` to the rows; pickled to the executors."""

    function: MapBatches

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with a last column that identifies this attempt."""
        attempt = pa.scalar(secrets.randbits(63), pa.int64())
        for batch in self.function(batches):
            yield batch.append_column(ATTEMPT, pa.repeat(attempt, batch.num_rows))
