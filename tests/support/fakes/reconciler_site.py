"""The reconcile pass among clusters in memory, with the real sink between them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from builders.logs import log
from fakes.clusters import MemoryCluster, MemoryEnds, MemoryIndex, MemoryTopic, to_records
from fakes.files import memory_files
from fakes.tables import MemoryTables
from offset_sync.config import Config, parse_config
from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, State, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import ClusterMetadata, Snapshot
from offset_sync.state.key_index import KeyRows
from offset_sync.state.lease import OpenFence
from offset_sync.state.moves import Moves
from offset_sync.state.noted_writes import NotedWrites
from offset_sync.state.sync_state import SyncState, frontiers
from offset_sync.sync.offset_writer import write_offsets
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import ReconcilePass
from oracles.translation import Log
from tools.waiting import until

ORDERS = TopicPartition("orders", 0)
STARTED_MS = 1_795_000_000_000


def config_of(aliases: Sequence[str], **sections: object) -> Config:
    """Return a configuration of *aliases* for the topics ``orders`` and ``pay-…``; the newest commit wins."""
    sections["sync"] = {"home_silence": "0s", **sections.get("sync", {})}  # type: ignore[dict-item]
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in aliases}
    return parse_config({"clusters": clusters, "topics": {"include": ["orders", "pay-.*"]}, **sections}, {})


@dataclass(frozen=True)
class Row:
    """One row of a settlement, in words."""

    source: str
    target: str
    group_id: str
    place: TopicPartition
    wanted: int
    state: str
    outcome: str
    error: str | None


@dataclass
class Site:
    """Clusters, the driver's committed of their commits, and a settler between them.

    *history* is what drivers before have told, see ``fakes.next_driver``.
    """

    config: Config
    clock_ms: list[int] = field(default_factory=lambda: [STARTED_MS])
    index: MemoryIndex = field(default_factory=MemoryIndex)
    reconciliations: list[Reconciliation] = field(default_factory=list)
    asked: list[tuple[str, OffsetWrite]] = field(default_factory=list)
    is_dry_run: bool = False
    history: list[pa.Table] = field(default_factory=list)
    tables: Any = field(default_factory=MemoryTables)
    """Where commands write what they do."""
    files: Any = field(default_factory=memory_files)

    def __post_init__(self) -> None:
        self.clusters = {alias: MemoryCluster(alias, self.clock_ms) for alias in self.config.clusters}
        self.restart()

    def restart(self) -> None:
        """Begin as a new driver does: with nothing known and nothing remembered."""
        self.state = SyncState(self.config, self.index, lambda: self.clock_ms[0])
        self.offsets, self.lock = self.state.offsets, self.state.lock
        self.position = dict.fromkeys(self.config.clusters, 0)
        self.moves = Moves(self.tables)
        self.moves.follow(self.state)
        self.noted = NotedWrites(self.files, self.config, 1, self.state)
        self.state.before_write = self.noted.note
        self.state.before_foreign = lambda: self.moves.follow(self.state)
        self.writers = {alias: SiteWriter(self, alias) for alias in self.clusters}
        self.lists = ReadLists(self.config, self.state, self.clusters)
        self.reconciler = Reconciler(
            ReconcilePass(self.config, self.state, self, self.writers, self.reconciliations, self.lists)
        )

    def put(
        self, where: Log, place: TopicPartition = ORDERS, *, topic_id: str | None = None, partitions: int = 1
    ) -> None:
        """Put a log at its cluster; the index has it up to its frontier."""
        cluster = self.clusters[where.cluster]
        cluster.topics[place.topic] = MemoryTopic(topic_id or f"{place.topic} at {where.cluster}", partitions)
        cluster.logs[place] = MemoryEnds(where.log_start, where.log_end)
        if where.frontier or where.records:
            self.index.extend(where, place)
            self.index.ids.setdefault((where.cluster, place.topic), {cluster.topics[place.topic].topic_id})

    def commit(
        self,
        alias: str,
        group_id: str,
        offset: int,
        place: TopicPartition = ORDERS,
        metadata: str = "",
        topic_id: str | None = None,
    ) -> None:
        """Commit as a consumer at *alias*, a millisecond later than whatever was done before."""
        self.pass_time(1)
        self.clusters[alias].commit(group_id, place, offset, metadata, topic_id)

    def write_as_we_do(self, alias: str, group_id: str, offset: int, place: TopicPartition = ORDERS) -> None:
        """Have *alias* hold an offset that we have written, and its log tell so."""
        key = self.offsets.ids([GroupPartition(group_id, *place)])
        self.offsets.clusters[alias].own_writes.begin(key, np.array([offset]))
        self.clusters[alias].commit(group_id, place, offset)

    def pass_time(self, milliseconds: int) -> None:
        """Turn all clocks."""
        self.clock_ms[0] += milliseconds

    def read(self, alias: str, at_most: int | None = None) -> KeyRows:
        """Record the commits of *alias* not read before; return the keys of those that are not our own."""
        first, log = self.position[alias], self.clusters[alias].log
        records = log[first:] if at_most is None else log[first : first + at_most]
        records = [each for each in records if self.config.is_group_included(each.group_id)]
        keys = [GroupPartition(each.group_id, *each.place) for each in records]
        recorded = self.state.record(alias, keys, to_records(records, [], first))
        self.position[alias] = len(log) if at_most is None else min(first + at_most, len(log))
        return recorded.genuine

    def read_all(self) -> None:
        """Read every cluster's commits up to the end."""
        for alias in self.clusters:
            self.read(alias)

    def reconcile(self, *, is_first: bool = False) -> list[str]:
        """Read everything and reconcile; return the lines of failures."""
        self.read_all()
        self.pass_time(1)
        return self.reconciler.reconcile_all(is_first=is_first)

    def reconcile_batch(self, source: str, at_most: int | None = None) -> None:
        """Read a micro-batch of *source*, hand it over, and return when all directions have done it."""
        self.reconciler.reconcile_batch(source, self.read(source, at_most), 1)
        self.wait()

    def wait(self) -> None:
        """Return when no direction has anything to do."""
        until(lambda: not any(queue._is_working for queue in self.reconciler._queues.values()))

    def reconciled(self) -> Site:
        """Settle until nothing is left to be asked, then forget what was asked and answered."""
        for _ in range(4):
            self.reconcile()
        self.asked.clear()
        self.reconciliations.clear()
        return self

    def target_offset(self, alias: str, group_id: str, place: TopicPartition = ORDERS) -> int | None:
        """Return the offset at *alias*."""
        stands = self.clusters[alias].group_offsets.get((group_id, place))
        return None if stands is None else stands.offset

    def rows(self, number: int = -1) -> list[Row]:
        """Return the rows of a settlement, by default the last one."""
        found = self.reconciliations[number]
        keys = [self.offsets.keys[key] for key in found.translated.commits.key.tolist()]
        return [
            Row(
                found.translated.source,
                found.translated.target,
                group_id,
                TopicPartition(topic, partition),
                int(found.translated.answers.wanted[row]),
                State(found.plan.state[row]).name,
                Outcome(found.outcome[row]).name,
                found.error.get(row),
            )
            for row, (group_id, topic, partition) in enumerate(keys)
        ]

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Ask the clusters."""
        return {alias: self.clusters[alias].describe(partitions) for alias in aliases}

    def snapshot(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> Snapshot:
        """Ask the clusters; the index is as far as it is."""
        known_to, asked_at_ms = frontiers(self.state.index, aliases, partitions), self.clock_ms[0]
        return Snapshot(self.fetch(aliases, partitions), known_to, asked_at_ms)

    def admins(self) -> dict[str, MemoryCluster]:
        """Return what asks each cluster."""
        return self.clusters

    def write(self, target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        """Commit through the real sink, which never waits here."""
        self.asked += [(target, each) for each in writes]
        clock = Clock(lambda: self.clock_ms[0] / 1000, lambda seconds: self.pass_time(int(seconds * 1000) + 1))
        return write_offsets(
            writes, self.clusters[target], fence=OpenFence(), dry_run=self.is_dry_run, deadline=1.0, clock=clock
        )


@dataclass
class SiteWriter:
    """Commits at one target of a site, whose ``write`` a test may replace."""

    site: Site
    target: str

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write."""
        return self.site.write(self.target, writes)


def mirrored_site(*targets: str, **sections: object) -> Site:
    """Return a site where X produces ten records and every target, by default Y, has them two offsets higher."""
    site = Site(config_of(["X", *(targets or ("Y",))], **sections))
    site.put(log("X", "X0:10"))
    for alias in targets or ("Y",):
        site.put(log(alias, ". . X0:10"))
    return site


def site_of(*aliases: str) -> Site:
    """Return clusters that all hold the first ten records of X, in their order."""
    site = Site(config_of(aliases))
    for alias in aliases:
        site.put(log(alias, "X0:10"))
    return site
