"""A process that seals what it appends and reads pages of it until it ends: python sealed_index.py ROOT STORAGE.

It ends while a thread reads pages and files are open, as a job does.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from offset_sync.state import seal
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import files_of
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

NOW = datetime.now(timezone.utc)
HOUR = timedelta(hours=1)


class Places:
    """The place of the tables, as in a configuration."""

    def __init__(self, root: str, storage: str) -> None:
        self.tables = self
        self.root = self.checkpoints = root
        self.storage: dict[str, str] = json.loads(storage)


def rows(first: int, count: int) -> pa.Table:
    """Return runs of one record, of two origins in turn."""
    known = {"cluster": "dc2", "topic": "orders", "partition": 0, "length": 1, "indexed_at": NOW}
    found = [
        known | {"start_offset": n, "origin": f"dc{1 + n % 2}", "origin_start": n // 2}
        for n in range(first, first + count)
    ]
    return pa.Table.from_pylist(found, RECORD_RUNS.arrow_schema)


def main(root: str, storage: str) -> None:
    """Append, seal, start, follow and cut; say what was found."""
    seal.FILE_ROWS, segments.GROUP_ROWS = 64, 16
    places = Places(root, storage)
    tables = TableStore(root, files_of(places))  # type: ignore[arg-type]
    tables.create()
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)
    kept_up = RecordIndex(tables)
    for first in range(0, 200, 20):
        tables.append(RECORD_RUNS, rows(first, 20))
        kept_up.refresh()
    sealed = seal.seal(tables, tables.segments(RECORD_RUNS), HOUR)
    kept_up.refresh()
    fresh = RecordIndex(tables, memory_bytes=1)
    fresh.refresh()
    for index in (kept_up, fresh):
        log = index.log("dc2", "orders", 0)
        assert log is not None
        assert log.runs.start.tolist() == list(range(200)), log.runs.start
        print(f"{sealed} rows sealed, {len(log.paged.pages)} pages, {len(log.paged.tail)} runs in memory", flush=True)

    def read_for_ever() -> None:
        while True:
            fresh.log("dc2", "orders", 0).runs  # type: ignore[union-attr] # noqa: B018

    threading.Thread(target=read_for_ever, daemon=True).start()
    time.sleep(1)
    print("ends", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
