"""The record index is read while Spark starts: both take some seconds, and a core each."""

from __future__ import annotations

import logging
import threading

from offset_sync.config import Config
from offset_sync.model.errors import TableError
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import TABLES
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


def taken_over(begun: RecordIndex | None, config: Config, tables: TableStore) -> RecordIndex:
    """Return the index that was *begun*, or else a new one; from now on it reads *tables*."""
    index = begun if begun is not None else _index_of(config, tables)
    index.read_from(tables)
    return index


def begin_to_read(config: Config) -> RecordIndex | None:
    """Begin to read the index in a thread of its own; whoever refreshes it meanwhile waits for what that one reads.

    None where the tables are not made yet, or a cluster has to say first what streams are called. What fails is left to
    the next refresh.
    """
    if not config.names.is_same:
        return None
    tables = TableStore.of(config)
    try:
        if not all(map(tables.is_there, TABLES)):
            return None
        tables.repair()
    except (OSError, TableError):  # whoever makes the tables says so
        return None
    index = _index_of(config, tables)

    def read() -> None:
        try:
            index.refresh()
        except Exception as problem:  # files that were cleaned up meanwhile, for example
            logger.info("the index is read after Spark has started, for now there was %r", problem)

    threading.Thread(target=read, name="reading early", daemon=True).start()
    return index


def _index_of(config: Config, tables: TableStore) -> RecordIndex:
    return RecordIndex(tables, config.timed_topics(), pages=IndexPages(config.sync.index_memory))
