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
    write = _WriteFile(tables.files, tables.path(table), table.arrow_schema, make)
    written = frame.mapInArrow(write, "file string").toArrow()
    return [DataFile(*json.loads(file)) for file in written.column("file").to_pylist()]


class _WriteFile:
    """Runs in a task: writes all rows as one file, a batch at a time, and reports it in one row."""

    def __init__(self, files: Files, folder: str, schema: pa.Schema, make: MakeRows) -> None:
        self._files, self._folder, self._schema, self._make = files, folder, schema, make

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one row with the :class:`DataFile` as JSON, none where there are no rows."""
        made = (self._make(pa.Table.from_batches([batch])).cast(self._schema) for batch in batches)
        rows = (each for each in made if each.num_rows)
        first = next(rows, None)
        if first is not None:
            written = write_rows(self._files, self._folder, self._schema, chain([first], rows))
            yield pa.RecordBatch.from_pydict({"file": [json.dumps(written)]})
