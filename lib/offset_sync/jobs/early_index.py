"""The record index is read while Spark starts, where that takes no JVM: both take some seconds, and a core each."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping

from offset_sync.config import Config
from offset_sync.model.errors import TableError
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import TABLES
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.places import local_place
from offset_sync.tables.protocol import Tables

logger = logging.getLogger(__name__)


def taken_over(begun: RecordIndex | None, config: Config, tables: Tables) -> RecordIndex:
    """Return the index that was *begun*, or else a new one; from now on it reads *tables*."""
    index = begun if begun is not None else _index_of(config, tables)
    index.read_from(tables)
    return index


def begin_to_read(config: Config, environ: Mapping[str, str] = os.environ) -> RecordIndex | None:
    """Begin to read the index in a thread of its own; whoever refreshes it meanwhile waits for what that one reads.

    None where it has to wait for Spark or for a cluster: the tables lie elsewhere or are not made yet, Delta's reader
    without a JVM cannot read them, or streams have other names. What fails is left to the next refresh.
    """
    if not config.names.is_same or local_place(config.tables.root, environ) is None:
        return None
    tables = LocalTables(config.tables.root)
    if not all(map(tables.is_there, TABLES)):
        return None
    try:
        tables.repair()
    except (OSError, TableError):  # whoever makes the tables says so
        return None
    if tables.readable_by_spark_alone():
        return None
    index = _index_of(config, tables)

    def read() -> None:
        try:
            index.refresh()
        except Exception as problem:  # files that were cleaned up meanwhile, for example
            logger.info("the index is read after Spark has started, for now there was %r", problem)

    threading.Thread(target=read, name="reading early", daemon=True).start()
    return index


def _index_of(config: Config, tables: Tables) -> RecordIndex:
    return RecordIndex(tables, config.timed_topics(), pages=IndexPages(config.sync.index_memory))
