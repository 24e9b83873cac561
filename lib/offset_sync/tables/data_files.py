"""Write a data file of a table a piece at a time, with what its entry in the log says of it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from offset_sync.tables.files import Files, Sink
from offset_sync.tables.statistics import Extent
from offset_sync.tables.table_version import DataFile


def write_rows(files: Files, folder: str, schema: pa.Schema, pieces: Iterable[pa.Table]) -> DataFile:
    """Write *pieces* of *schema* as one new file of the table in *folder*; it is stored then, and nobody sees it.

    A piece is a row group of the file.
    """
    name, began_ms = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet", int(time.time() * 1000)
    extent = Extent(schema)

    def write(sink: Sink) -> None:
        with pq.ParquetWriter(sink, schema, compression="snappy") as writer:
            for piece in pieces:
                extent.add(piece)
                writer.write_table(piece)

    size = files.write_file(f"{folder}/{name}", write)
    return DataFile(name, size, began_ms, json.dumps(extent.statistics()), extent.rows)
