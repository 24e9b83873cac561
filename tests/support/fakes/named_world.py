"""Two clusters that mirror each other under MirrorMaker's names, and the jobs between them through the real doors.

Logs, commits and tables have the names that Kafka knows; the indexer, the state and the reconciler know streams.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryCluster, MemoryEnds, MemoryTopic
from fakes.commit_rows import CommitRowsInMemory
from fakes.driver import Query, encoded
from fakes.ingest import NO_ROWS
from fakes.named_doors import NamedTables
from fakes.reconciler_site import config_of
from fakes.tables import MemoryFrame
from fakes.unchecked import ONLY_SPARK, UNCHECKED
from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_ingester import CommitIngester, Reading
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.ingest.run_builder import RunBuilder, StreamIdentities
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.values import OffsetWrite, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.lease import OpenFence
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.offset_writer import write_offsets
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.translation_history import TranslationHistory
from offset_sync.tables.catalog import TABLES
from offset_sync.tables.definition import Table
from offset_sync.tables.files import Files
from offset_sync.tables.rows import CLUSTER_OF

ALIASES = ("dc1", "dc2")
STARTED_MS = 1_795_000_000_000


@dataclass(frozen=True)
class Record:
    """A record by what it says (*origin* and *number*), with the headers that the mirror has stamped, if it has."""

    origin: str
    number: int
    headers: tuple[str, int] | None = None


@dataclass
class NamedWorld:
    """Both clusters and the jobs; *folder* has the checkpoints of the index."""

    folder: Path
    rng: random.Random
    config: Config = field(default_factory=lambda: config_of(ALIASES, mirror={"names": "mm2"}))
    clock_ms: list[int] = field(default_factory=lambda: [STARTED_MS])
    logs: dict[tuple[str, str], list[Record]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clusters = {alias: MemoryCluster(alias, self.clock_ms) for alias in ALIASES}
        for alias in ALIASES:
            other = next(each for each in ALIASES if each != alias)
            for topic in ("orders", f"{other}.orders"):
                self.logs[alias, topic] = []
                self.clusters[alias].topics[topic] = MemoryTopic(f"{topic} at {alias}")
        self.tables = NamedTables(self.config)
        self.batches = dict.fromkeys(ALIASES, 0)
        self.position = dict.fromkeys(ALIASES, 0)
        self.commit_batches = dict.fromkeys(ALIASES, 0)
        self.commit_rows = {alias: CommitRowsInMemory() for alias in ALIASES}
        self.start()

    def start(self) -> None:
        """Begin as new processes do, with the tables and checkpoints of those before."""
        self.config = config_of(ALIASES, mirror={"names": "mm2"})
        self.tables.names = self.config.names
        names, tables = self.config.names, self.tables
        self.admins = {alias: ClusterAdmin(alias, {}, names) for alias in ALIASES}
        fetcher: Any = MetadataFetcher(self.admins)
        store: Any = tables
        incarnations = IncarnationCheck(store, {}, dict)
        self.indexers = {}
        for alias in ALIASES:
            files: Any = Files()
            checkpoint = Checkpoint(files, str(self.folder / alias), alias, names)
            builder = RunBuilder(StreamIdentities(alias, {each: each for each in ALIASES}, "text", names), _is_never)
            reread: Any = None
            logs = LogCheck(alias, Asked(fetcher, fetcher, reread), OriginCheck(alias, ALIASES), incarnations)
            checks = Checks(self.admins[alias], logs, ONLY_SPARK)
            self.indexers[alias] = RecordIndexer(store, checkpoint, builder, checks, IndexProgress())
        index = RecordIndex(store, now_ms=lambda: self.clock_ms[0])
        self.state = SyncState(self.config, index, lambda: self.clock_ms[0])
        self.history = TranslationHistory(store, self.state.offsets.keys, self.config)
        writers: Any = {alias: _Writer(self, alias) for alias in ALIASES}
        self.reconciler = Reconciler(
            self.config, self.state, fetcher, writers, self.history, ReadLists(self.config, self.state, {})
        )
        self.is_ready, metrics = threading.Event(), SyncMetrics(self.config)
        self.sync_batches = {}
        for alias in ALIASES:
            query: Any = Query(alias)
            ingester = CommitIngester(alias, store, query, self.commit_rows[alias], 1, Reading(UNCHECKED, names=names))
            self.sync_batches[alias] = SyncBatch(ingester, self.state, self.reconciler, metrics, self.is_ready)

    # Producers, mirrors and groups, who know Kafka's names

    def produce(self, alias: str, count: int) -> None:
        """Produce to ``orders`` at a cluster."""
        log = self.logs[alias, "orders"]
        log += [Record(alias, len(log) + n) for n in range(count)]

    def mirror(self, source: str, target: str) -> None:
        """Bring what is new of the source's ``orders``; some of it is sent again, or in another order."""
        copy, original = self.logs[target, f"{source}.orders"], self.logs[source, "orders"]
        known = {record.number for record in copy}
        fresh = [Record(each.origin, each.number, (source, n)) for n, each in enumerate(original)]
        fresh = [each for each in fresh if each.number not in known]
        if len(fresh) > 1 and self.rng.random() < 0.3:
            fresh[0], fresh[1] = fresh[1], fresh[0]
        copy += fresh
        if fresh and self.rng.random() < 0.3:
            copy += fresh[-3:]

    def commit(self, alias: str, group: str, topic: str, offset: int) -> None:
        """Commit as a consumer."""
        self.clock_ms[0] += 1
        self.clusters[alias].commit(group, TopicPartition(topic, 0), offset)

    def stands(self, alias: str, group: str, topic: str) -> int | None:
        """Return the offset of a group."""
        found = self.clusters[alias].group_offsets.get((group, TopicPartition(topic, 0)))
        return None if found is None else found.offset

    # The jobs

    def index_all(self) -> None:
        """Index all that is there; holes are old afterwards."""
        for alias in ALIASES:
            logs = {topic: len(log) for (where, topic), log in self.logs.items() if where == alias}
            self.clusters[alias].logs = {TopicPartition(topic, 0): MemoryEnds(0, end) for topic, end in logs.items()}
        for alias in ALIASES:
            self._index(alias)
        self.clock_ms[0] += 10 * 60_000

    def _index(self, alias: str) -> None:
        number, folder = self.batches[alias], self.folder / alias
        ends = {topic: {"0": len(log)} for (where, topic), log in self.logs.items() if where == alias}
        before = json.loads((folder / f"offsets/{number - 1}").read_text().split("\n")[2]) if number else {}
        for part in ("offsets", "sources/0"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "metadata").write_text(json.dumps({"id": alias}))
        (folder / "sources/0/0").write_text("v1\n" + json.dumps({topic: {"0": 0} for topic in ends}))
        (folder / f"offsets/{number}").write_text("v1\n{}\n" + json.dumps(ends))
        rows = [
            {
                "topic": topic,
                "partition": 0,
                "offset": offset,
                "timestamp": 0,
                "origin_header": record.headers and record.headers[0].encode(),
                "offset_header": record.headers and str(record.headers[1]).encode(),
            }
            for topic in ends
            for offset, record in enumerate(self.logs[alias, topic])
            if offset >= before.get(topic, {}).get("0", 0)
        ]
        frame: Any = MemoryFrame(pa.Table.from_pylist(rows, MIRRORED_RECORDS))
        self.indexers[alias](frame, number)
        self.batches[alias] += 1

    def sync(self) -> list[str]:
        """Read all commits and reconcile; return the lines of failures."""
        self.is_ready.set()
        for _ in range(2):
            for alias in ALIASES:
                self._ingest(alias)
        failures = self.reconciler.reconcile_all()
        for alias in ALIASES:
            self._ingest(alias)
        return failures

    def _ingest(self, alias: str) -> None:
        first, log = self.position[alias], self.clusters[alias].log
        rows = [
            {"partition": 0, "offset": first + n, "timestamp": each.at_ms * 1000} | encoded(each)
            for n, each in enumerate(log[first:])
        ]
        self.commit_rows[alias].put(rows)
        self.commit_batches[alias] += 1
        self.position[alias] = len(log)
        self.sync_batches[alias](NO_ROWS, self.commit_batches[alias])

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows as they are stored."""
        found: list[dict[str, Any]] = pa.concat_tables(
            [table.no_rows, *self.tables.versions.get(table.name, [])]
        ).to_pylist()
        return found

    def stored_topics(self) -> Iterator[tuple[str, str, str]]:
        """Yield table, cluster and topic of everything that is stored."""
        for table in (each for each in TABLES if each in CLUSTER_OF):
            yield from ((table.name, row[CLUSTER_OF[table]], row["topic"]) for row in self.rows(table))


@dataclass
class _Writer:
    """Commits at one target through the real decisions and the real door."""

    world: NamedWorld
    target: str

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        admin = self.world.admins[self.target]
        return write_offsets(writes, admin, fence=OpenFence(), dry_run=False, deadline=1.0)


def _is_never(_stream: str) -> bool:
    return False
