"""One run of ``cutover``: opens the procedure, and records every step and answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from offset_sync.config import Config
from offset_sync.cutover.internal_topics import open_applications
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import NO_OPTIONS, Direction, Options
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import Fence
from offset_sync.status.live_state import LiveState
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.reconciliation import OffsetWriter
from offset_sync.sync.translation_history import TranslationHistory


@contextmanager
def open_cutover(
    config: Config,
    live: LiveState,
    direction: Direction,
    journal: TableJournal,
    fence: Fence,
    options: Options = NO_OPTIONS,
) -> Iterator[tuple[CutoverProcedure, LiveClusters]]:
    """Yield the procedure for *direction*, which writes while *fence* is open; at the end the history is flushed.

    Raises OffsetSyncError if that fails: the groups are moved, but the history is incomplete.
    """
    live.ask_of_untold()
    history = TranslationHistory(live.tables, live.state.offsets.keys, config)
    writer = cutover_writer(config, direction.target, fence)
    clusters = LiveClusters(config, live, direction, writer, history, open_applications(config, *direction))
    try:
        yield CutoverProcedure(direction, clusters, journal, names=config.names, options=options), clusters
    finally:
        history.close()
    if history.error:
        raise OffsetSyncError(history.error)


class _CutoverWriter(TargetWriter):
    """Commits forward even over an unexpected value: sync_offsets may have written since the tables were read.

    It may have died before it recorded that. Errs to not writing: an unexpected offset ahead of the answer is kept.
    """

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order."""
        return super().write([replace(each, moves_forward=True) for each in writes])


def cutover_writer(config: Config, target: str, fence: Fence) -> OffsetWriter:
    """Return the writer that commits at *target* while *fence* is open."""
    return _CutoverWriter(
        target,
        config.admin_options(target),
        config.sync.requests_in_flight,
        config.sync.commit_timeout.total_seconds(),
        is_dry_run=False,
        fence=fence,
        names=config.names,
    )
