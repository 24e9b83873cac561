"""A command that moves groups beside sync_offsets, with a memory of its own, among the same clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from fakes.live_tables import LiveTables
from fakes.reconciler_site import Site
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import CutoverStep, Direction
from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.cluster_clock import to_datetime
from offset_sync.state.group_homes import Move
from offset_sync.state.last_known import to_rows
from offset_sync.state.moves import BEGUN, HOME, Moves
from offset_sync.state.replay import fill_commits
from offset_sync.tables.catalog import CUTOVERS


@dataclass
class CommandWriter:
    """Commits as :mod:`offset_sync.cutover.journal` does: noted first, and forward over what was not expected."""

    site: Site
    target: str
    note: Callable[[str, str, OffsetWrite], None]

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write."""
        writes = [replace(each, moves_forward=True, refresh=False) for each in writes]
        self.site.is_dry_run = True
        tried = self.site.write(self.target, writes)
        self.site.is_dry_run = False
        for write, found in zip(writes, tried, strict=True):
            if found.outcome is Outcome.DRY_RUN and not write.metadata:
                self.note("commit", BEGUN, write)
        return self.site.write(self.target, writes)


class Command:
    """Begins with what the tables know: all that *site*, which is sync_offsets, has read by now."""

    def __init__(self, site: Site, source: str, target: str, group: str = "readers") -> None:
        site.read_all()
        own = Site(site.config, clock_ms=site.clock_ms, index=site.index)
        own.clusters = site.clusters
        own.restart()
        fill_commits(own.state, to_rows(site.offsets), own.clusters)
        Moves(site.tables).follow(own.state)
        live: Any = LiveTables(own)
        self._site, self._source, self._target, self._group = site, source, target, group
        direction = Direction(source, target)
        writer = CommandWriter(own, target, self._note)
        self.clusters = LiveClusters(own.config, live, direction, writer)

    def look(self) -> list[CrossedPartition]:
        """Return the group's partitions with their lists."""
        return self.clusters.crossed([self._group])

    def commit(self) -> list[CutoverStep]:
        """Translate and commit."""
        return self.clusters.translate_and_commit([self._group])

    def move(self) -> None:
        """Move the group without being asked anything, and have sync_offsets notice it."""
        self.look()
        assert all(each.is_done for each in self.commit())
        self.make_home()

    def decide(self) -> None:
        """Let the source be the group's home for this command alone, as where it was moved before."""
        homes = self.clusters._state.homes
        homes.note_moves([Move(self._group, "orders", self._source, self._site.clock_ms[0], is_decided=True)])

    def make_home(self) -> None:
        """Have sync_offsets notice that the target is the group's home."""
        self._site.pass_time(1)
        self._note(HOME, "done")
        self._site.moves.follow(self._site.state)

    def _note(self, step: str, result: str, write: OffsetWrite | None = None) -> None:
        """Write a row of cutovers, as :mod:`offset_sync.cutover.journal` does."""
        at = to_datetime(self._site.clock_ms[0])
        row = dict.fromkeys(CUTOVERS.names) | {"cutover_id": str(id(self)), "at": at, "step": step, "result": result}
        row |= {"group_id": self._group, "stream": "orders", "target_cluster": self._target}
        row |= {"partition": write.partition, "target_offset": write.offset} if write is not None else {}
        self._site.tables.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))
