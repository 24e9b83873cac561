"""Seals ``record_runs`` beside the queries that append to it, whenever there is enough: then a start reads little."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from offset_sync.model.errors import TableError
from offset_sync.state.seal import FILE_ROWS, seal
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_EVERY_S = 10.0


class Sealer:
    """Looks every ten seconds until *stop* is set; *keep* is how long versions are kept."""

    def __init__(self, tables: TableStore, keep: timedelta, stop: threading.Event) -> None:
        self._tables, self._keep, self._stop = tables, keep, stop
        self._segments = tables.segments(RECORD_RUNS)
        self._thread = threading.Thread(target=self._run, name="sealing", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def seal(self) -> None:
        """Seal once what is enough; what fails is tried again by the next one."""
        try:
            seal(self._tables, self._segments, self._keep, FILE_ROWS)
        except RuntimeError as problem:
            logger.info("record_runs is not sealed for now: %s", problem)
        except (OSError, TableError) as problem:
            logger.warning("record_runs is not sealed for now: %s", problem)
        except Exception:  # records are indexed all the same
            logger.exception("record_runs is not sealed for now")

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self.seal()
