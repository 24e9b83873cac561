"""What ``maintain_tables`` does with the fingerprints: those that no alignment needs are removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnations import incarnations_of
from offset_sync.state.index_retention import to_begins
from offset_sync.tables.catalog import LOG_INCARNATIONS
from offset_sync.tables.maintenance import Maintainer, is_below
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync_contents.alignment.aligner import AlignerState
from offset_sync_contents.known_logs import KeptAlignments, logs_with_fingerprints
from offset_sync_contents.settings import contents_of, origin_of
from offset_sync_contents.table import RECORD_FINGERPRINTS

TABLES = (RECORD_FINGERPRINTS,)


def needed_from(
    logs: Collection[ClusterPartition],
    states: Mapping[ClusterPartition, AlignerState],
    origin_of: Callable[[str], str | None],
) -> dict[ClusterPartition, int]:
    """Return the offset from which fingerprints of each of *logs* are needed, by the *states* of logs of copies.

    Originals are needed from where any log of copies resumes: all while one of those is not aligned, none if there is
    no such log. Logs of copies that are not aligned yet are left out: all of theirs are needed.
    """
    found: dict[ClusterPartition, int] = {}
    for log in {*logs, *states}:
        origin = origin_of(log.topic)
        if origin == log.cluster:
            found.setdefault(log, NO_LIMIT)
        elif origin is not None:
            originals = ClusterPartition(origin, *log.topic_partition)
            needed = states[log].reach.first_needed if log in states else 0
            found[originals] = min(needed, found.get(originals, needed))
            if log in states:
                found[log] = states[log].frontier
    return {log: found[log] for log in logs if log in found}


def retire(config: Config, tables: TableStore, maintainer: Maintainer, now: datetime) -> int:
    """Remove rows not needed *now* and read longer ago than ``resend_window``; return how many, 0 if not worth it."""
    # Before the rows: the alignment resumes from these states or later ones.
    states = _states(config, tables)
    logs = {log for log in logs_with_fingerprints(tables) if log.cluster in config.clusters}
    needed = needed_from(logs, states, partial(origin_of, config))
    if not needed:
        return 0
    begins, old_before = to_begins(needed, config.names), now - contents_of(config).resend_window
    return maintainer.remove(RECORD_FINGERPRINTS, lambda rows: _is_old(rows, begins, old_before))


def _states(config: Config, tables: TableStore) -> dict[ClusterPartition, AlignerState]:
    """Return the states of logs of copies at configured clusters, if they are of the newest known incarnation."""
    kept = KeptAlignments(tables.files, config.tables.checkpoints).read()
    begun_ms: dict[TopicPartition, int] = {}
    for log, incarnation in incarnations_of(tables.all_rows(LOG_INCARNATIONS)):
        begun_ms[log.topic_partition] = max(incarnation.noticed_ms, begun_ms.get(log.topic_partition, 0))
    return {
        log: each.state
        for log, each in kept.items()
        if log.cluster in config.clusters and each.begun_ms == begun_ms.get(log.topic_partition, 0)
    }


def _is_old(rows: pa.Table, begins: pa.Table, old_before: datetime) -> NDArray[np.bool_]:
    """Return which *rows* of the table are not needed; a log that is not among the *begins* keeps all of its rows."""
    is_old = pc.less(rows.column("read_at"), pa.scalar(old_before, rows.schema.field("read_at").type))
    found: NDArray[np.bool_] = is_below(rows, begins) & is_old.fill_null(False).to_numpy()
    return found
