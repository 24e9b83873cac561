"""``index_records`` for copies matched by contents: queries for originals and copies, and their alignment."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa

from offset_sync.config import Config
from offset_sync.ingest.index_parts import ORIGIN_DEADLINE_S, IndexParts, TopicAccess
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import ClusterPartition
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync_contents.content_query import ContentQuery, QueryKind
from offset_sync_contents.copy_alignment import CopyAlignment, Lookups
from offset_sync_contents.known_logs import KeptAlignments
from offset_sync_contents.settings import contents_of, origin_of_log
from offset_sync_contents.table import RECORD_FINGERPRINTS

logger = logging.getLogger(__name__)
_STEP_S, _KEEP_EVERY_S = 0.2, 30.0
_FIRST_BACK_OFF_S, _LONGEST_BACK_OFF_S = 1.0, 60.0


class ContentQueries:
    """The queries of all clusters for originals and copies, and the alignment of what they have read."""

    def __init__(self, config: Config, access: TopicAccess, parts: IndexParts) -> None:
        self._config, self._parts = config, parts
        self._stop = parts.lease.stop
        file = KeptAlignments(parts.tables.files, config.tables.checkpoints)
        logs = MetadataFetcher(parts.admins, ORIGIN_DEADLINE_S)
        lookups = Lookups(logs, parts.incarnations, self._read_from)
        settings = contents_of(config).to_settings()
        parts.tables.create((RECORD_FINGERPRINTS,), tests_storage=False)
        self.alignment = CopyAlignment(parts.tables, file, lookups, partial(origin_of_log, config), settings)

        def queries(*, are_originals: bool) -> list[ContentQuery]:
            kind = QueryKind(are_originals, self.alignment.take, parts.progress)
            return [ContentQuery(config, admin, access, parts, kind) for admin in parts.admins.values()]

        self._originals, self._copies = queries(are_originals=True), queries(are_originals=False)
        self._by_origin = dict(zip(parts.admins, self._originals, strict=True))

    def _read_from(self, log: ClusterPartition, begin: int) -> pa.Table:
        return self._by_origin[log.cluster].read_from(log, begin)

    def add_to(self, queries: QuerySupervisor) -> None:
        """Add all of them to *queries*."""
        for each in (*self._copies, *self._originals):
            queries.add(each.name, each)

    def begin(self) -> Callable[[], None]:
        """Align in a thread of its own what is read; the returned function ends it, and waits for that."""
        ended = threading.Event()
        thread = threading.Thread(target=self._align, args=(ended,), name="alignment", daemon=True)
        thread.start()

        def end() -> None:
            ended.set()
            thread.join()

        return end

    def run_once(self, supervisor: Callable[[], QuerySupervisor]) -> list[str]:
        """Index up to what is there now; return one line per query that failed.

        Copies first, so that the originals are read to an end that was queried afterwards; and originals once more if
        none had been read before. Copies that wait for a later one are left to the next run.
        """
        failures = self._run(self._copies, supervisor())
        for _ in range(2):
            self._step()
            failures += self._run(self._originals, supervisor())
            self._step()
            if not self.alignment.is_waiting or self._stop.is_set():
                break
        self.alignment.save()
        return list(dict.fromkeys(failures))

    def _run(self, queries: Sequence[ContentQuery], supervisor: QuerySupervisor) -> list[str]:
        for each in queries:
            each.supervised_by(supervisor)
            supervisor.add(each.name, each)
        supervisor.run_once()
        return supervisor.failures()

    def _step(self) -> int:
        return self.alignment.step(system_now_ms())

    def _align(self, ended: threading.Event) -> None:
        wait_s, kept_at, is_last = _STEP_S, time.monotonic(), False
        while not is_last:
            is_last = ended.wait(wait_s)
            try:
                self._step()
                if is_last or time.monotonic() - kept_at > _KEEP_EVERY_S:
                    self.alignment.save()
                    kept_at = time.monotonic()
                wait_s = _STEP_S
            except TakenOverError:
                self._stop.set()
                return
            except Exception:
                wait_s = min(max(2 * wait_s, _FIRST_BACK_OFF_S), _LONGEST_BACK_OFF_S)
                logger.exception("copies could not be aligned, next try in %.0f s", wait_s)
