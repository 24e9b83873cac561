"""Retention of ``log_incarnations`` by ``maintain_tables``, see :mod:`offset_sync.state.incarnations`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.model.errors import ClusterError
from offset_sync.state.incarnations import KEPT, LOG, NamedEpochs, candidates, retired_elections
from offset_sync.tables.catalog import ELECTED, LOG_INCARNATIONS, OFFSET_COMMITS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.rows import partners
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
_POLL_S = 0.1
LogEnds = Callable[[str], Sequence[int | None]]


class RetireElections:
    """Removes rows of elections from *tables*; *checkpoints* of ``sync_offsets`` tell how far each cluster is read.

    *log_ends* returns the log end of each partition of a cluster's ``__consumer_offsets``, None without an answer; it
    raises ClusterError. On a busy cluster some commit is always unread, so *patience_s* are waited for the ends that it
    returned.
    """

    def __init__(
        self, tables: TableStore, checkpoints: Mapping[str, Checkpoint], log_ends: LogEnds, patience_s: float = 5.0
    ) -> None:
        self._tables, self._checkpoints, self._log_ends = tables, checkpoints, log_ends
        self._patience_s = patience_s

    def cut(self, maintainer: Maintainer, now: datetime) -> int:
        """Remove the rows that no commit needs at *now*; return how many. Nothing if there are too few."""
        rows, old_before = self._tables.all_rows(LOG_INCARNATIONS), now - KEPT
        due = candidates(rows, old_before)
        # Commits below a checkpoint are in the tables, so these are read afterwards.
        read = {alias for alias in due if self._is_read(alias)}
        if not read:
            return 0
        retired = retired_elections(rows, self._named(), old_before, read)
        if retired.num_rows == 0:
            return 0
        return maintainer.remove(LOG_INCARNATIONS, lambda found: _is_marked(found, retired))

    def _is_read(self, alias: str) -> bool:
        """Return whether ``offset_commits`` has all commits of a cluster's groups until now; errs to False."""
        checkpoint = self._checkpoints.get(alias)
        if checkpoint is None:  # a cluster no longer configured
            return False
        before = checkpoint.position()
        try:
            ends = self._log_ends(alias)
        except ClusterError as error:
            logger.info("rows of elections are kept: %s", error)
            return False
        if _is_other_log(before, ends):
            return False
        until = time.monotonic() + self._patience_s
        while not (is_read := _reaches(checkpoint.position(), ends)) and time.monotonic() < until:
            time.sleep(_POLL_S)
        if not is_read:
            logger.info("clusters.%s: rows of elections are kept: sync_offsets has not read all commits there", alias)
        return is_read

    def _named(self) -> NamedEpochs:
        """Return the highest offset that any group committed under each epoch."""
        found = NamedEpochs.schema.empty_table()
        highest = [("committed_offset", "max")]
        by = [*LOG, "leader_epoch"]
        for rows in self._tables.batches(OFFSET_COMMITS, NamedEpochs.schema.names):
            named = rows.filter(pc.and_(rows["leader_epoch"].is_valid(), rows["committed_offset"].is_valid()))
            both = pa.concat_tables([found, named.select(NamedEpochs.schema.names).cast(NamedEpochs.schema)])
            grouped = both.group_by(by, use_threads=False).aggregate(highest)
            found = grouped.rename_columns([*by, "committed_offset"]).select(NamedEpochs.schema.names)
        return NamedEpochs(found)


def _is_other_log(position: Mapping[int, int], ends: Sequence[int | None]) -> bool:
    """Return whether some log ends below the position read before: it was truncated or recreated."""
    return any(end is not None and end < position.get(number, 0) for number, end in enumerate(ends))


def _reaches(position: Mapping[int, int], ends: Sequence[int | None]) -> bool:
    """Return whether each log was read to its end; False for one without a leader."""
    return bool(ends) and all(end is not None and position.get(number, 0) >= end for number, end in enumerate(ends))


def _is_marked(rows: pa.Table, retired: pa.Table) -> NDArray[np.bool_]:
    """Return which *rows* of the table are of a *retired* election."""
    is_retired = partners(rows, retired, [*LOG, "leader_epoch", "noticed_at"]) >= 0
    found: NDArray[np.bool_] = is_retired & pc.equal(rows.column("reason"), ELECTED).fill_null(False).to_numpy()
    return found
