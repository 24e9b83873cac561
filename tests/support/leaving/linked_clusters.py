"""Two clusters of which one holds a copy of the other's log, byte for byte, until a producer writes to it.

The real index jobs and the real translation go on beside; while one waits for an answer, others may act.
Every record has a number of its own, which only the tests see: it says which records are the same.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import Plan
from fakes.tables import MemoryFrame, MemoryTables
from fakes.unchecked import ONLY_SPARK
from leaving.named_tables import NamedTables
from offset_sync.config import Config, parse_config
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import CopyCheck, OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.jobs.index_records import Originals, builder_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Snapshot
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState, frontiers
from offset_sync.state.translator import Pair, Translator
from offset_sync.translate.partition import Translations
from offset_sync.translate.partition_log import GivenOffsets

ORIGINAL, COPY = "dc1", "dc2"
NOW_MS = 10**15


def config_of(mirror: Mapping[str, Any]) -> Config:
    """Return the configuration of both clusters; where names do not say whose originals there are, it does."""
    ends = {"kafka": {"bootstrap.servers": "x:1"}}
    topics = {"include": ["orders"], "strategy": "identity"}
    topics |= {} if mirror.get("names") == "mm2" else {"origin": ORIGINAL}
    return parse_config({"clusters": {ORIGINAL: ends, COPY: ends}, "topics": topics, "mirror": mirror}, {})


class Content(NamedTuple):
    """A record: *number* is its own, also where its time is that of another one."""

    number: int
    at_ms: int


@dataclass
class LinkedClusters:
    """*times* says how many records share a time at most; *chance* decides who acts while others wait.

    *mirror* says what the copy is called. Logs and tables have those names, and jobs streams, as behind the real doors.
    """

    chance: random.Random
    times: int = 1
    logs: dict[str, list[Content]] = field(default_factory=lambda: {ORIGINAL: [], COPY: []})
    down: set[str] = field(default_factory=set)
    tables: MemoryTables = field(default_factory=MemoryTables)
    is_promoted: bool = False
    is_quiet: bool = False
    epochs: dict[str, int] = field(default_factory=lambda: {ORIGINAL: 1, COPY: 1})
    ended: dict[str, int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=lambda: {ORIGINAL: "id-1", COPY: "id-2"})
    numbers: int = 0
    mirror: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config = config_of(self.mirror)
        if not self.config.names.is_same:
            self.tables = NamedTables(self.config)
        self.stream = self.config.names.inside(ORIGINAL, "orders")
        self.place = TopicPartition(self.stream, 0)
        self.plans = {alias: Plan({self._key: 0}, [], f"query {alias}") for alias in self.logs}
        self.restart_index()
        self.restart_sync()

    @property
    def _key(self) -> TopicPartition:
        return TopicPartition(self.stream, 0)

    # What happens at the clusters

    def produce(self, alias: str, count: int = 1) -> None:
        """Write records at a cluster; a copy takes them only once it is promoted."""
        assert alias == ORIGINAL or self.is_promoted
        for _ in range(count):
            self.numbers += 1
            self.logs[alias].append(Content(self.numbers, self.numbers // self.times))

    def link(self, count: int = 1) -> None:
        """Let the copy get the next records of the original."""
        if not (self.is_promoted or self.down):
            have = len(self.logs[COPY])
            self.logs[COPY] += self.logs[ORIGINAL][have : have + count]

    def write_to_the_copy(self, count: int) -> None:
        """Produce *count* records there, and index it; times are all the same, so only the logs' ends tell."""
        self.times, self.is_promoted = 1 << 40, True
        self.produce(COPY, count)
        self.index(COPY)

    def cut(self, alias: str, end: int) -> None:
        """Let a log lose its end; another leader goes on with it."""
        del self.logs[alias][end:]
        self.epochs[alias] += 1
        self.ended[alias] = end

    def pause(self) -> None:
        """Let others act."""
        for _ in range(0 if self.is_quiet else self.chance.randrange(3)):
            if self.is_promoted and self.chance.random() < 0.5:
                self.produce(COPY, self.chance.randrange(1, 3))
            elif self.chance.random() < 0.5:
                self.produce(ORIGINAL, self.chance.randrange(1, 3))
            else:
                self.link(self.chance.randrange(1, 4))

    # What clusters are asked

    def said(self, alias: str) -> ClusterMetadata | ClusterError:
        """Return what a cluster says of the log."""
        if alias in self.down:
            return ClusterError(alias, "no answer")
        ends = MemoryEnds(0, len(self.logs[alias]), self.epochs[alias])
        return ClusterMetadata({self.stream: MemoryTopic(self.ids[alias])}, {self.place: ends})

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        """Return what each cluster says, one after the other."""
        found = {}
        for alias in wanted:
            self.pause()
            found[alias] = self.said(alias)
        self.pause()
        return found

    def describe(self, topics: list[str]) -> dict[str, MemoryTopic]:
        """Return the topic, as ``RecordIndexer`` asks for it."""
        return {self.stream: MemoryTopic(self.ids[self.asking])}

    # The job index_records

    def restart_index(self) -> None:
        """Begin as a new process does: it knows what the tables and the checkpoints say."""
        tables: Any = self.tables
        original = Originals(self.config)
        epochs: Any = {alias: _Epochs(self, alias) for alias in self.logs}
        incarnations = IncarnationCheck(tables, epochs, lambda: highest_indexed(tables, original))
        copies = CopyCheck(original, incarnations)
        self.indexers = {}
        for alias, plan in self.plans.items():
            asked: Any = Asked(self, self, lambda ranges, alias=alias: self._reread(alias, ranges))  # type: ignore[arg-type]
            check = LogCheck(alias, asked, OriginCheck(alias, list(self.logs), original), incarnations, copies)
            builder, checks, at = builder_of(self.config, alias), Checks(self, check, ONLY_SPARK), IndexProgress()  # type: ignore[arg-type]
            self.indexers[alias] = RecordIndexer(tables, plan, builder, checks, at)  # type: ignore[arg-type]

    def index(self, alias: str, most: int = 1 << 30) -> None:
        """Read what is new of a log, at most so many records, and write it down."""
        plan, self.asking = self.plans[alias], alias
        first = plan.ends[-1][self._key] if plan.ends else 0
        end = min(first + most, len(self.logs[alias]))
        if alias in self.down or (end <= first and plan.ends):
            return
        plan.ends.append({self._key: end})
        frame = self._frame(alias, first, end)
        self.pause()
        self.indexers[alias](frame, len(plan.ends) - 1)  # type: ignore[arg-type]

    def _reread(self, alias: str, ranges: Mapping[TopicPartition, tuple[int, int]]) -> MemoryFrame:
        return self._frame(alias, *ranges[self.place])

    def _frame(self, alias: str, first: int, end: int) -> MemoryFrame:
        records = list(enumerate(self.logs[alias]))[first:end]
        called = self.config.names.outside(alias, self.stream)
        rows = [(called, 0, offset, record.at_ms * 1000, None, None) for offset, record in records]
        table = [dict(zip(MIRRORED_RECORDS.names, row)) for row in rows]
        return MemoryFrame(pa.Table.from_pylist(table, MIRRORED_RECORDS))

    # The job sync_offsets

    def restart_sync(self) -> None:
        """Begin as a new process does."""
        index = RecordIndex(self.tables, self.config.timed_topics())  # type: ignore[arg-type]
        self.state = SyncState(self.config, index)
        self.translator = Translator(self.config, self.state)

    def answers(self, source: str, target: str, commits: list[int]) -> Translations:
        """Return the answers to *commits* as they are now."""
        index = self.state.index
        index.refresh()
        known_to = frontiers(index, (source, target), [self.place])
        snapshot = Snapshot(self.fetch_each({target: [self.place], source: [self.place]}), known_to, NOW_MS)
        none = np.full(len(commits), ABSENT)
        given = GivenOffsets(np.array(commits), np.full(len(commits), NOW_MS), none, [None] * len(commits))
        pair = Pair(LastTranslations(), source, target, snapshot, NOW_MS)
        asked = self.translator.ask_given(pair, self.place, given)
        self.translator.compute(asked)
        return self.translator.answers(asked)


class _Epochs:
    """Says where leader epochs ended."""

    def __init__(self, world: LinkedClusters, alias: str) -> None:
        self._world, self._alias = world, alias

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        """Return where the last leader's records ended."""
        end = self._world.ended.get(self._alias, len(self._world.logs[self._alias]))
        return dict.fromkeys(epochs, ReportedEnd(end))
