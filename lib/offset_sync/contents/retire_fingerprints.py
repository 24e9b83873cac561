"""What ``maintain_tables`` removes from ``record_fingerprints``, see :func:`needed_from`."""

from __future__ import annotations

import logging
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.kept_alignments import KeptAlignments
from offset_sync.contents.retired_fingerprints import needed_from
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.begins_table import to_begins
from offset_sync.state.incarnation_rows import lives_of
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_FINGERPRINTS
from offset_sync.tables.maintenance import PARTITION, Maintainer, is_below
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


def retire_fingerprints(config: Config, tables: TableStore, maintainer: Maintainer, now: datetime) -> int:
    """Remove what nobody needs at *now* and was read longer ago than ``mirror.resend_window``; return how many rows.

    Nothing where headers tell what a copy is, and where it is not worth it.
    """
    if not config.is_by_contents:
        return 0
    # Before the rows: what is kept by then is needed by who goes on from there, or from a later one.
    states = _states(config, tables)
    logs: set[ClusterPartition] = set()
    for rows in tables.batches(RECORD_FINGERPRINTS, list(PARTITION)):
        for row in rows.group_by(list(PARTITION)).aggregate([]).to_pylist():
            logs.add(ClusterPartition(row["cluster"], row["topic"], row["partition"]))
    logs = {log for log in logs if log.cluster in config.clusters}
    needed = needed_from(logs, states, config.origin_of)
    if not needed:
        return 0
    begins, old_before = to_begins(needed, config.names), now - config.mirror.resend_window
    return maintainer.remove(RECORD_FINGERPRINTS, lambda rows: _is_old(rows, begins, old_before))


def _states(config: Config, tables: TableStore) -> dict[ClusterPartition, AlignerState]:
    """Return how far logs of copies are aligned, of those that there are, and in the life that is known now."""
    kept = KeptAlignments(tables.files, config.tables.checkpoints).read()
    begun_ms: dict[TopicPartition, int] = {}
    for log, life in lives_of(tables.all_rows(LOG_INCARNATIONS)):
        begun_ms[log.topic_partition] = max(life.noticed_ms, begun_ms.get(log.topic_partition, 0))
    return {
        log: each.state
        for log, each in kept.items()
        if log.cluster in config.clusters and each.lives_ms == begun_ms.get(log.topic_partition, 0)
    }


def _is_old(rows: pa.Table, begins: pa.Table, old_before: datetime) -> NDArray[np.bool_]:
    """Return which *rows* of the table nobody needs; a log that is not among the *begins* keeps all of its rows."""
    is_old = pc.less(rows.column("read_at"), pa.scalar(old_before, rows.schema.field("read_at").type))
    found: NDArray[np.bool_] = is_below(rows, begins) & is_old.fill_null(False).to_numpy()
    return found
