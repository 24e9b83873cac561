"""Files of a table that Spark's tasks write, each its own rows, on any storage; the driver sees no row.

The successful attempt of a task reports its file to the driver. Files of other attempts have no entry in the log,
like those of an append that was killed, until maintenance deletes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame

from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import DataFile, write_rows

MakeRows = Callable[[pa.Table], pa.Table]
"""Makes rows of a table; pickled to the executors."""


def write_by_tasks(tables: TableStore, table: Table, frame: DataFrame, make: MakeRows) -> list[DataFile]:
    """Have tasks write what *make* makes of the rows of *frame* for *table*, a file each at most; they are stored then.

    The files are invisible before they are appended.
    """
    storage, folder, schema = tables.files.storage, tables.path(table), table.arrow_schema

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = (make(pa.Table.from_batches([batch])).cast(schema) for batch in batches)
        rows = (each for each in made if each.num_rows)
        if (first := next(rows, None)) is not None:
            written = write_rows(Files(storage), folder, schema, chain([first], rows))
            yield pa.RecordBatch.from_pydict({"file": [json.dumps(written)]})

    found = frame.mapInArrow(write, "file string").toArrow()
    return [DataFile(*json.loads(file)) for file in found.column("file").to_pylist()]
