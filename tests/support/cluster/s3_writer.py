"""A process that does nothing but append rows to one table: python s3_writer.py ROOT NAME COUNT STORAGE."""

from __future__ import annotations

import json
import sys

import pyarrow as pa

from offset_sync.tables.catalog import QUARANTINE
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore


def main(root: str, name: str, count: str, storage: str) -> None:
    """Make the table unless it is there, and append *count* times one row; the topic says which it is."""
    store = TableStore(root, Files(json.loads(storage)))
    store.create([QUARANTINE])
    print(f"{name} begins", flush=True)
    for number in range(int(count)):
        row = pa.Table.from_pylist([{"cluster": name, "topic": f"{name}-{number}"}], QUARANTINE.arrow_schema)
        store.append(QUARANTINE, row, (name, number))
    print(f"{name} has appended {count}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
