"""Three clusters that copy a topic byte for byte, and whatever may happen to it: judged by the contents of records.

The real index jobs and the real translation go on beside. Every record has a number of its own that only the
tests sees. Links follow their upstream; a copy may be promoted, cut, recreated; logs lose their beginnings, single
records, their ends; clusters fall silent, processes restart, the configuration changes.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from builders.record_schemas import MIRRORED_RECORDS
from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.indexing import Plan
from fakes.tables import MemoryFrame, MemoryTables
from fakes.unchecked import ONLY_SPARK
from leaving.copied_log import Content, Log
from offset_sync.config import parse_config
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.ingest.log_check import Asked, LogCheck
from offset_sync.ingest.origin_check import CopyCheck, OriginCheck
from offset_sync.ingest.record_indexer import Checks, RecordIndexer
from offset_sync.jobs.index_records import Originals, builder_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.checked_metadata import CheckedMetadata
from offset_sync.state.cluster_metadata import ClusterMetadata, Snapshot
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState, frontiers
from offset_sync.state.translator import Pair, Translator
from offset_sync.translate.partition import Translations
from offset_sync.translate.partition_log import GivenOffsets

NOW_MS = 10**15
PLACE = TopicPartition("orders", 0)
Told = dict[str, ClusterMetadata | ClusterError]


@dataclass
class CopiedClusters:
    """*upstream* says which cluster each one copies; None: it is no copy, so it may be written to."""

    chance: random.Random
    times: int = 1
    upstream: dict[str, str | None] = field(default_factory=lambda: {"dc1": None, "dc2": "dc1", "dc3": "dc1"})
    strategy: str = "identity"
    origin: str = "dc1"

    def __post_init__(self) -> None:
        self.numbers, self.ids, self.is_quiet = 0, 0, False
        self._happens = threading.Lock()  # clusters are asked side by side, and one thing happens at a time
        self.logs = {alias: Log(self._new_id()) for alias in self.upstream}
        self.down, self.tables = set[str](), MemoryTables()
        self.plans = {alias: Plan({PLACE: 0}, [], f"query {alias}") for alias in self.logs}
        self.configure(self.strategy, self.origin)

    def _new_id(self) -> str:
        self.ids += 1
        return f"id-{self.ids}"

    # What happens at the clusters

    def produce(self, alias: str, count: int = 1) -> None:
        log = self.logs[alias]
        for _ in range(count):
            if self.chance.random() < 0.1:
                log.append(log.end, None)
                continue
            self.numbers += 1
            log.append(log.end, Content(self.numbers, self.numbers // self.times))

    def link(self, alias: str, count: int = 1) -> None:
        up = self.upstream[alias]
        if up is None or up in self.down or alias in self.down:
            return
        log, source = self.logs[alias], self.logs[up]
        if (differs := self.differs_at(alias)) is not None:  # truncate and restore
            if differs < log.start:
                return
            log.cut(differs)
        former, first = source.lacking | source.ever, log.end
        if log.end < source.start:
            log.end = source.start
            log.delete(source.start)
        for offset in range(log.end, min(log.end + count, source.end)):
            log.append(offset, source.records.get(offset))
        log.lacking |= {each: former[each] for each in range(first, log.end) if each in former.keys() - log.ever.keys()}

    def recreate(self, alias: str) -> None:
        self.logs[alias] = Log(self._new_id())

    def differs_at(self, alias: str) -> int | None:
        """Return the first offset of a copy that is not its upstream's."""
        mine, up = self.logs[alias], self.logs[self.upstream[alias] or ""]
        wrong = [o for o, r in mine.ever.items() if up.ever.get(o, up.lacking.get(o)) != r]
        wrong += [o for o, r in up.ever.items() if o < mine.end and mine.ever.get(o, mine.lacking.get(o)) != r]
        if mine.end > up.end:
            wrong.append(up.end)
        return min(wrong, default=None)

    def pause(self) -> None:
        with self._happens:
            for _ in range(0 if self.is_quiet else self.chance.randrange(3)):
                alias = self.chance.choice(sorted(self.logs))
                if alias in self.down:
                    continue
                if self.upstream[alias] is None:
                    self.produce(alias, self.chance.randrange(1, 3))
                else:
                    self.link(alias, self.chance.randrange(1, 4))

    # What clusters are asked

    def said(self, alias: str) -> ClusterMetadata | ClusterError:
        if alias in self.down:
            return ClusterError(alias, "no answer")
        log = self.logs[alias]
        ends = MemoryEnds(log.start, log.end, log.epoch_starts[-1][0])
        return ClusterMetadata({"orders": MemoryTopic(log.topic_id)}, {PLACE: ends})

    def fetch_each(self, wanted: Mapping[str, Collection[TopicPartition]]) -> Told:
        found: Told = {}
        for alias, places in wanted.items():
            self.pause()
            said = self.said(alias)
            found[alias] = said if places or isinstance(said, ClusterError) else ClusterMetadata({}, {})
        self.pause()
        return found

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> Told:
        """Return the same of these partitions."""
        return self.fetch_each(dict.fromkeys(aliases, partitions))

    def describe(self, topics: list[str]) -> dict[str, MemoryTopic]:
        return {"orders": MemoryTopic(self.logs[self.asking].topic_id)}

    # The job index_records

    def configure(self, strategy: str, origin: str) -> None:
        """Begin all jobs again with another configuration."""
        self.strategy, self.origin = strategy, origin
        ends = {"kafka": {"bootstrap.servers": "x:1"}}
        topics: dict[str, Any] = {"include": ["orders"], "strategy": strategy}
        topics |= {"origin": origin} if strategy == "identity" else {}
        self.config = parse_config({"clusters": dict.fromkeys(self.logs, ends), "topics": topics}, {})
        self.restart_index()
        self.restart_sync()

    def restart_index(self) -> None:
        tables: Any = self.tables
        original = Originals(self.config)
        epochs: Any = {alias: _Epochs(self, alias) for alias in self.logs}
        are_copied = original if self.config.has_copies else None
        incarnations = IncarnationCheck(tables, epochs, lambda: highest_indexed(tables, are_copied))
        copies = CopyCheck(original, incarnations)
        self.indexers, self.checks = {}, {}
        for alias, plan in self.plans.items():
            asked: Any = Asked(self, self, lambda ranges, alias=alias: self._reread(alias, ranges))  # type: ignore[arg-type]
            check = LogCheck(alias, asked, OriginCheck(alias, list(self.logs), original), incarnations, copies)
            builder, checks, at = builder_of(self.config, alias), Checks(self, check, ONLY_SPARK), IndexProgress()  # type: ignore[arg-type]
            self.checks[alias] = check
            self.indexers[alias] = RecordIndexer(tables, plan, builder, checks, at)  # type: ignore[arg-type]
        self.failed: set[str] = {
            alias for alias, plan in self.plans.items() if plan.ends and alias in getattr(self, "failed", ())
        }

    def index(self, alias: str, most: int = 1 << 30, is_due: bool = False) -> None:
        """Read what is new of a log; *is_due*: a while has gone by, so it is asked about whatever is new."""
        plan, self.asking = self.plans[alias], alias
        if alias in self.down:
            return
        if is_due:
            self.checks[alias]._due._all_due_at = 0.0
        if alias not in self.failed:
            first = plan.ends[-1][PLACE] if plan.ends else 0
            plan.ends.append({PLACE: min(first + most, self.logs[alias].end)})
        number = len(plan.ends) - 1
        first, end = plan.start_offsets(number)[PLACE], plan.ends[number][PLACE]
        frame = self._frame(alias, first, end)
        self.pause()
        try:
            self.indexers[alias](frame, number)  # type: ignore[arg-type]
            self.failed.discard(alias)
        except ClusterError:
            self.failed.add(alias)

    def repeat(self, alias: str) -> None:
        """Have the last micro-batch come once more, as after a crash before it was committed."""
        if self.plans[alias].ends:
            self.failed.add(alias)

    def _reread(self, alias: str, ranges: Mapping[TopicPartition, tuple[int, int]]) -> MemoryFrame:
        return self._frame(alias, *ranges[PLACE])

    def _frame(self, alias: str, first: int, end: int) -> MemoryFrame:
        records = sorted((o, r) for o, r in self.logs[alias].records.items() if first <= o < end)
        rows = [("orders", 0, offset, record.at_ms * 1000, None, None) for offset, record in records]
        table = [dict(zip(MIRRORED_RECORDS.names, row)) for row in rows]
        return MemoryFrame(pa.Table.from_pylist(table, MIRRORED_RECORDS))

    # The job sync_offsets

    def restart_sync(self) -> None:
        self.state = SyncState(self.config, RecordIndex(self.tables, self.config.timed_topics()))  # type: ignore[arg-type]
        self.translator = Translator(self.config, self.state)

    def answers(self, source: str, target: str, commits: list[int]) -> Translations:
        index = self.state.index
        index.refresh()
        known_to = frontiers(index, (source, target), [PLACE])
        fetcher: Any = CheckedMetadata(self, index, {alias: _Epochs(self, alias) for alias in self.logs})
        snapshot = Snapshot(fetcher.fetch((target, source), [PLACE]), known_to, NOW_MS)
        times, none = np.full(len(commits), NOW_MS), np.full(len(commits), ABSENT)
        given = GivenOffsets(np.array(commits), times, none, [None] * len(commits))
        pair = Pair(LastTranslations(), source, target, snapshot, NOW_MS)
        self.translator.compute(asked := self.translator.ask_given(pair, PLACE, given))
        return self.translator.answers(asked)

    def skipped(self, source: str, target: str, commit: int, answer: int) -> list[int]:
        """Return the offsets of records that a group skips which has read the source up to *commit*."""
        log = self.logs[source]
        read = {record for offset, record in [*log.ever.items(), *log.lacking.items()] if offset < commit}
        there = sorted(self.logs[target].records.items())
        return [offset for offset, record in there if offset < answer and record not in read]


class _Epochs:
    def __init__(self, world: CopiedClusters, alias: str) -> None:
        self._world, self._alias = world, alias

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        if self._alias in self._world.down:
            raise ClusterError(self._alias, "no answer")
        return {each: ReportedEnd(self._world.logs[self._alias].end_of(epoch.known)) for each, epoch in epochs.items()}

    def ends_in_time(
        self, epochs: Mapping[TopicPartition, EpochChange], deadline: float
    ) -> dict[TopicPartition, ReportedEnd]:
        return self.ends(epochs)
