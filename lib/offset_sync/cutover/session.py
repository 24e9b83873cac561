"""One run of ``cutover``: what moves groups is opened, and every step and answer is written down."""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial

import pyarrow as pa

from offset_sync.config import Config
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import CutoverStep, Mode
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.model.errors import OffsetSyncError
from offset_sync.status.live_state import LiveState
from offset_sync.sync.reconciliation import OffsetWriter
from offset_sync.sync.target_writer import TargetWriter
from offset_sync.sync.translation_history import NoIntents, TranslationHistory
from offset_sync.tables.report_tables import CUTOVERS
from offset_sync.tables.store import TableStore


@contextmanager
def opened(
    config: Config, state: LiveState, source: str, target: str, mode: Mode, say: Callable[[str], None]
) -> Iterator[tuple[CutoverProcedure, LiveClusters]]:
    """Yield what moves groups from *source* to *target*; at the end every answer is written down.

    Raises OffsetSyncError where that cannot be done: the groups are moved, but the history lacks it.
    """
    history = TranslationHistory(state.tables, state.book.keys, config, NoIntents())
    site = LiveClusters(config, state, source, target, _writer(config, target), history)
    record = partial(_append, state.tables, _columns_of_all(source, target, mode))
    try:
        yield CutoverProcedure(source, target, site, record, say), site
    finally:
        history.close()
    if history.error:
        raise OffsetSyncError(history.error)


def _writer(config: Config, target: str) -> OffsetWriter:
    sync = config.sync
    return TargetWriter(
        target, config.admin_options(target), sync.requests_in_flight, sync.commit_timeout.total_seconds(), False
    )


def _columns_of_all(source: str, target: str, mode: Mode) -> dict[str, str]:
    return {
        "cutover_id": uuid.uuid4().hex[:12],
        "who": f"{getpass.getuser()}@{socket.gethostname()}",
        "mode": mode,
        "source_cluster": source,
        "target_cluster": target,
    }


def _append(tables: TableStore, same: dict[str, str], steps: Sequence[CutoverStep]) -> None:
    now = datetime.now(timezone.utc)
    rows = [
        {
            **same,
            "at": now,
            "step": step.step,
            "result": step.result,
            "group_id": step.group_id,
            "topic": step.place.topic if step.place else None,
            "partition": step.place.partition if step.place else None,
            "source_offset": step.source_offset,
            "target_offset": step.target_offset,
            "duplicates": step.duplicates,
            "lost": step.lost,
            "detail": step.detail,
        }
        for step in steps
    ]
    tables.append(CUTOVERS, pa.Table.from_pylist(rows, CUTOVERS.arrow_schema))
