"""Reports among clusters in memory: what the jobs know, what the clusters say, and what is read to compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from builders.logs import log
from fakes.clusters import GroupOffset
from fakes.reconciler_site import ORDERS, Site, config_of
from generators.mirrored_logs import CLUSTERS
from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, OffsetWrite, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.held_positions import groups_of
from offset_sync.state.lease import OpenFence
from offset_sync.status.held_offsets import HeldOffsets
from offset_sync.status.live_state import OwnVerdicts, by_direction
from offset_sync.status.record_comparison import RecordPair
from offset_sync.status.reporter import IndexProgress, StatusReporter
from offset_sync.sync.offset_writer import write_offsets
from oracles.status import identity
from oracles.translation import Case, Log, LogRecord

Row = dict[str, Any]
IN_SYNC = ("InSync", None)


@dataclass
class StatusSite(Site):
    """A site with a reporter; *active* are the groups with members at each cluster.

    It answers what the reporter asks of clusters, of the index and of records. *meanwhile* happens after the clusters
    were asked. *changed* are offsets in a cluster's log whose record is not what its identity says: another key or
    value.
    """

    active: dict[str, set[str] | ClusterError] = field(default_factory=dict)
    index_still_ms: dict[str, int] = field(default_factory=dict)
    changed: set[tuple[str, int]] = field(default_factory=set)
    meanwhile: Callable[[], None] = lambda: None
    meanwhile_asking: Callable[[str], None] = lambda alias: None
    refusing: dict[str, ClusterError] = field(default_factory=dict)
    unreadable: dict[ClusterPartition, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.records: dict[tuple[str, TopicPartition], Log] = {}
        super().__post_init__()

    def restart(self) -> None:
        """Begin as a new process does."""
        super().restart()
        self.reporter = StatusReporter(self.config, self.state, self, self)

    def active_groups(self, alias: str) -> Collection[str] | ClusterError:
        """Answer for a cluster's coordinators."""
        return self.active.get(alias, set())

    def committed_offsets(
        self, alias: str, groups: Sequence[str]
    ) -> Mapping[str, Mapping[TopicPartition, GroupOffset] | ClusterError]:
        """Answer for a cluster's coordinators; *refusing* has those groups of which they say nothing."""
        self.meanwhile_asking(alias)
        try:
            found = self.clusters[alias].committed_offsets(groups, 1.0)
        except ClusterError as error:
            return dict.fromkeys(groups, error)
        return {**found, **{group: self.refusing[group] for group in groups if group in self.refusing}}

    def snapshot(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> Snapshot:
        """Ask the clusters; between their answers and the report time passes."""
        found = super().snapshot(aliases, partitions)
        self.meanwhile()
        return found

    def put(
        self, where: Log, topic_partition: TopicPartition = ORDERS, *, topic_id: str | None = None, partitions: int = 1
    ) -> None:
        """Put a log at its cluster; the index has it up to its frontier."""
        super().put(where, topic_partition, topic_id=topic_id, partitions=partitions)
        self.records[where.cluster, topic_partition] = where

    def compare(self, pairs: Collection[RecordPair]) -> dict[RecordPair, str | None]:
        """Compare identities, as far as the clusters hold the records."""
        return {pair: self._difference(pair) for pair in pairs}

    def _difference(self, pair: RecordPair) -> str | None:
        here = self._next(pair.source, pair.topic_partition, pair.source_offset)
        there = self._next(pair.target, pair.topic_partition, pair.target_offset)
        if here is None or there is None:
            return "not read"
        is_changed = (pair.source, here.offset) in self.changed
        return None if identity(here) == identity(there) and identity(here) and not is_changed else "another one"

    def _next(self, alias: str, topic_partition: TopicPartition, offset: int) -> LogRecord | None:
        where = self.records[alias, topic_partition]
        return next((r for r in where.records if r.offset >= max(offset, where.log_start)), None)

    def report(self, now_ms: int | None = None) -> list[Row]:
        """Read all commits and report on them, a row per key and target."""
        self.read_all()
        return self.reported(self.clock_ms[0] if now_ms is None else now_ms)

    def reported(self, now_ms: int) -> list[Row]:
        """Decide and report, without reading a commit."""
        held = self.ask()
        return self.report_on(self.decided(now_ms), held, now_ms)

    def report_on(self, rows: pa.Table, held: HeldOffsets, now_ms: int) -> list[Row]:
        """Report on what was decided."""
        progress = IndexProgress(self.index_still_ms, self.unreadable)
        return self.reporter.report(by_direction(rows, self.config), held, progress, now_ms)

    def ask(self) -> HeldOffsets:
        """Ask the clusters for members and offsets."""
        rows = self.state.all_rows()
        for alias in self.clusters:
            found = self.active_groups(alias)
            groups = None if isinstance(found, ClusterError) else found
            self.state.homes.note_members(alias, groups, self.clock_ms[0])
        homes = {alias: groups_of(self.state, self.state.rows_of(alias, rows)) for alias in self.clusters}
        return self.reporter.ask({alias: groups for alias, groups in homes.items() if groups})

    def decided(self, now_ms: int) -> pa.Table:
        """Decide on all keys at that time, as a report does without a driver."""
        writers, clock = {alias: DryWriter(self, alias) for alias in self.clusters}, self.state.now_ms
        self.state.now_ms = lambda: now_ms
        try:
            return OwnVerdicts(self.config, self.state, self, self.clusters, writers).decide(self.state.all_rows())
        finally:
            self.state.now_ms = clock

    def row(self, source: str = "X", target: str = "Y", group: str = "g") -> Row:
        """Report, and return one row."""
        names = ("source_cluster", "target_cluster", "group_id")
        (row,) = (row for row in self.report() if tuple(row[name] for name in names) == (source, target, group))
        return row

    def said(self, source: str = "X", target: str = "Y", group: str = "g") -> tuple[str, str | None]:
        """Report, and return the status of one row and why."""
        row = self.row(source, target, group)
        return row["status"], row["reason"]


@dataclass
class DryWriter:
    """Reads one target of a site, and writes nothing."""

    site: StatusSite
    target: str

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write."""
        clock = Clock(lambda: self.site.clock_ms[0] / 1000, lambda _seconds: None)
        there = self.site.clusters[self.target]
        return write_offsets(writes, there, fence=OpenFence(), dry_run=True, deadline=1.0, clock=clock)


def status_site(here: str, there: str, **sections: object) -> StatusSite:
    """Return a site of X and Y with these logs, written as in :mod:`builders.logs`."""
    site = StatusSite(config_of(["X", "Y"], **sections))
    site.put(log("X", here))
    site.put(log("Y", there))
    return site


def moved(here: str, there: str, committed: int, **sections: object) -> StatusSite:
    """A site of these logs, with a group at X that the sync has brought to Y."""
    site = status_site(here, there, **({"status": {"stalled_after": "2h"}} | sections))
    site.commit("X", "g", committed)
    site.reconciled()
    return site


def site_of_logs(case: Case, *logs: Log | None) -> StatusSite:
    """Return the clusters of *case* with these logs, also where nothing of one is read yet."""
    grace = f"{case.hole_grace_ms}ms"
    site = StatusSite(config_of(CLUSTERS, sync={"hole_grace": grace}, status={"stalled_after": "3650d"}))
    for name in CLUSTERS:
        site.index.code(name)
    for where in logs:
        assert where is not None
        site.put(where)
        site.index.extend(where, ORDERS)
    return site


def site_of_case(case: Case, positions: Sequence[tuple[int, int]]) -> StatusSite:
    """The clusters of *case*, with a group for each of *positions*: commit at the source, offset at the target."""
    site = site_of_logs(case, case.source, case.target)
    for number, (committed, position) in enumerate(positions):
        site.commit(case.source_cluster, str(number), committed)
        site.write_as_we_do(case.target.cluster, str(number), position)
    return site
