"""One run of ``cutover``: opens the procedure, and records every step and answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from offset_sync.config import Config
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import CutoverStep, Result, Step
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.lease import Fence
from offset_sync.status.live_state import LiveState
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS


def open_cutover(
    config: Config, live: LiveState, judge: Judge, journal: TableJournal, fence: Fence, *, decides: bool
) -> tuple[CutoverProcedure, LiveClusters]:
    """Return the procedure, which writes while *fence* is open, and its clusters; for *decides* see these."""
    live.ask_of_untold()

    def record(done: Reconciliation) -> None:
        """Append the new results before any group is at home at the target: an append that fails ends the command."""
        keys, rows = live.state.offsets.keys, np.flatnonzero(done.is_news)
        live.tables.append(OFFSET_TRANSLATIONS, to_rows(done, rows, keys, config))

    writer = CutoverWriter(config, judge.direction.target, fence, journal)
    clusters = LiveClusters(config, live, judge.direction, writer, record, decides=decides)
    return CutoverProcedure(judge, clusters, journal), clusters


class CutoverWriter:
    """Commits at *target* while *fence* is open; *journal* has each write before it is sent.

    So ``sync_offsets`` knows that it is ours (``state/moves.py``), however this command ends.

    It commits forward even over an unexpected value: sync_offsets may have written since the tables were read. It may
    have died before it recorded that. Errs to not writing: an unexpected offset ahead of the answer is kept.
    """

    def __init__(self, config: Config, target: str, fence: Fence, journal: TableJournal) -> None:
        self._journal = journal
        self._writer = TargetWriter(
            target,
            config.admin_options(target),
            is_dry_run=False,
            fence=fence,
            names=config.names,
        )

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order."""
        writes = [replace(each, moves_forward=True, refresh=False) for each in writes]
        tried = replace(self._writer, is_dry_run=True).write(writes)
        self._journal.record(
            [
                CutoverStep(
                    *(write.group_id, Step.COMMIT, Result.BEGUN, None, TopicPartition(write.topic, write.partition)),
                    target_offset=write.offset,
                )
                for write, found in zip(writes, tried, strict=True)
                if found.outcome is Outcome.DRY_RUN and not write.metadata
            ]
        )
        return self._writer.write(writes)
