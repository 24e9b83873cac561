"""A driver that does nothing but append rows to one table: python s3_writer.py ROOT NAME COUNT."""

from __future__ import annotations

import sys

import pyarrow as pa

from offset_sync.jobs.spark_session import open_session
from offset_sync.tables.catalog import QUARANTINE
from offset_sync.tables.store import TableStore


def main(root: str, name: str, count: str) -> None:
    """Make the table unless it is there, and append *count* times one row; the topic says which it is."""
    store = TableStore(open_session("s3_writer"), root)
    store.create([QUARANTINE])
    print(f"{name} begins", flush=True)
    empty = QUARANTINE.arrow_schema.empty_table()
    for number in range(int(count)):
        row = pa.Table.from_pylist([{"cluster": name, "topic": f"{name}-{number}"}], schema=empty.schema)
        store.append(QUARANTINE, row, (name, number))
    print(f"{name} has appended {count}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
