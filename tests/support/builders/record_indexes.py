"""Record indexes over the tables of a test, and what they hold in a form that can be compared."""

from __future__ import annotations

from builders.index_rows import LogKey
from fakes.tables import MemoryTables
from offset_sync.state.record_index import RecordIndex
from offset_sync.translate.index.log_index import LogIndex


def read_in_one(tables: MemoryTables) -> RecordIndex:
    cache = RecordIndex(tables)  # type: ignore[arg-type]
    cache.refresh()
    return cache


def log_of(cache: RecordIndex, place: LogKey = ("Y", "orders", 0)) -> LogIndex:
    log = cache.log(*place)
    assert log is not None
    return log


def content(cache: RecordIndex, place: LogKey = ("Y", "orders", 0)) -> tuple[object, ...] | None:
    log = cache.log(*place)
    if log is None:
        return None
    names = {code: name for name, code in cache._codes.items()}
    runs = log.runs
    columns = (runs.start, runs.length, runs.origin_start, runs.indexed_at_ms)
    origins = [names[code] for code in runs.origin.tolist()]
    return log.begin, log.frontier, origins, *(column.tolist() for column in columns)
