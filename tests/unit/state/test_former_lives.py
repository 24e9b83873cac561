"""Logs with several lives: what the index makes of its rows, against what the records really are.

Three clusters with one partition each. Z produces, and its records are copied to X and Y in order; X and Y produce too
and are copied to each other. Now and then a log loses its end and goes on with other records at the same offsets, while
copies of the lost ones are still on their way. Every record has a number of its own, which only this test sees.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import pytest

from builders.index_rows import EPOCH, add, begin, life, run
from fakes.tables import MemoryTables
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.translate.exact import Bounds
from offset_sync.translate.partition import translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata

LATE_MS, GRACE_MS = 1_000, 50
ROUTES = (("Z", "X"), ("Z", "Y"), ("X", "Y"), ("Y", "X"))


class Written(NamedTuple):
    """A record of a log: *number* is its own everywhere, *life* that of its origin's log."""

    number: int
    origin: str
    life: int
    origin_offset: int


@dataclass
class World:
    """Clusters, mirrors between them and an index that reads record by record, by one seed and one clock."""

    chance: random.Random
    tables: MemoryTables = field(default_factory=MemoryTables)
    logs: dict[str, list[Written]] = field(default_factory=lambda: {alias: [] for alias in "XYZ"})
    lives: dict[str, int] = field(default_factory=lambda: dict.fromkeys("XYZ", 0))
    read_to: dict[str, int] = field(default_factory=lambda: dict.fromkeys("XYZ", 0))
    cut_ms: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys("XYZ"))
    noticed_ms: int | None = None
    arrived_ms: dict[str, int] = field(default_factory=lambda: dict.fromkeys("XYZ", 0))
    unseen: dict[str, int | None] = field(default_factory=lambda: dict.fromkeys("XYZ"))
    on_their_way: dict[tuple[str, str], list[Written]] = field(default_factory=lambda: {route: [] for route in ROUTES})
    now_ms: int = 1
    numbers: int = 0

    def play(self, steps: int) -> None:
        """Take *steps* at random, then let everything arrive and be indexed."""
        for alias in self.logs:
            add(self.tables, RECORD_RUNS, begin(0, place=(alias, "orders", 0)))
        for _ in range(steps):
            self.now_ms += self.chance.randrange(1, 60)
            self.deliver_overdue()
            self.chance.choices((self.produce, self.mirror, self.index, self.cut), (6, 8, 6, 0.6))[0]()
        for _ in range(40):
            for route in ROUTES:
                self.carry(route, len(self.on_their_way[route]))
            self.now_ms += LATE_MS
            for alias in self.logs:
                self.read(alias, 1 << 20)

    def deliver_overdue(self) -> None:
        """Let copies of a former life arrive: mirrors do not hold them back for longer than a while."""
        for route in ROUTES:
            cut_ms = self.cut_ms[route[0]]
            if cut_ms is not None and self.now_ms + 60 >= cut_ms + LATE_MS:
                former = [each for each in self.on_their_way[route] if each.life < self.lives[route[0]]]
                self.carry(route, len(former))

    def produce(self) -> None:
        """Write a record somewhere; it is on its way to the other clusters at once."""
        alias = self.chance.choice("XYZ")
        self.numbers += 1
        record = Written(self.numbers, alias, self.lives[alias], len(self.logs[alias]))
        self.logs[alias].append(record)
        for route in ROUTES:
            if route[0] == alias:
                self.on_their_way[route].append(record)

    def mirror(self) -> None:
        """Let some copies arrive, in order."""
        self.carry(self.chance.choice(ROUTES), self.chance.randrange(1, 4))

    def carry(self, route: tuple[str, str], count: int) -> None:
        """Let *count* copies arrive."""
        arriving, self.on_their_way[route] = self.on_their_way[route][:count], self.on_their_way[route][count:]
        self.logs[route[1]] += arriving

    def cut(self) -> None:
        """Let a log lose its end, or all of it."""
        alias = self.chance.choice("XYZ")
        begins_at = self.chance.choice((0, self.chance.randrange(len(self.logs[alias]) + 1)))
        self.logs[alias] = self.logs[alias][:begins_at]
        self.lives[alias] += 1
        if self.cut_ms[alias] is None or self.now_ms > self.cut_ms[alias] + LATE_MS:
            self.cut_ms[alias] = self.now_ms
        known = self.unseen[alias]
        self.unseen[alias] = begins_at if known is None else min(known, begins_at)

    def index(self) -> None:
        """Read some records of a log, once every log was asked whether it is the same."""
        self.read(self.chance.choice("XYZ"), self.chance.randrange(1, 4))

    def read(self, alias: str, count: int) -> None:
        """Read at most *count* records."""
        for origin, begins_at in self.unseen.items():
            if begins_at is not None:
                self.note(origin, begins_at)
        begun_ms = self.noticed_ms
        if begun_ms is not None and self.arrived_ms[alias] <= begun_ms and self.now_ms >= begun_ms + LATE_MS:
            self.arrived_ms[alias] = self.now_ms
            add(self.tables, LOG_INCARNATIONS, life(alias, len(self.logs[alias]), self.now_ms, "ARRIVED"))
        first = self.read_to[alias]
        self.now_ms += 1
        rows = [begin(first, place=(alias, "orders", 0))]
        for offset, record in list(enumerate(self.logs[alias]))[first : first + count]:
            at = record.origin_offset
            rows.append(run(offset, 1, record.origin, at, place=(alias, "orders", 0), seen_ms=self.now_ms))
        self.read_to[alias] = first + len(rows) - 1
        rows[0]["indexed_at"] = EPOCH + timedelta(milliseconds=self.now_ms)
        add(self.tables, RECORD_RUNS, *rows)

    def note(self, origin: str, begins_at: int) -> None:
        """Write down that a log has another life, and read it again from there."""
        self.unseen[origin], self.noticed_ms = None, self.now_ms
        self.read_to[origin] = min(self.read_to[origin], begins_at)
        add(self.tables, LOG_INCARNATIONS, life(origin, begins_at, self.now_ms))

    def may_be_skipped(self, record: Written, read: list[Written]) -> bool:
        """Return whether *record*, which is not among *read*, is one that X will never have: it has a later one."""
        return any(r[1:3] == record[1:3] and r.origin_offset > record.origin_offset for r in read)


def index_of(world: World) -> RecordIndex:
    index = RecordIndex(world.tables)  # type: ignore[arg-type]
    index.refresh()
    return index


def partition_log(world: World, index: RecordIndex, alias: str) -> PartitionLog:
    end = len(world.logs[alias])
    metadata = PartitionMetadata("id", 0, end, {"id"}, end)
    return PartitionLog.of(index.log(alias, "orders", 0), index.code(alias), metadata)


@pytest.mark.parametrize("seed", [*range(40), 108])
def test_no_answer_skips_a_record_that_is_not_read(seed: int) -> None:
    world = World(random.Random(seed))
    world.play(80)
    index = index_of(world)
    now_ms = world.now_ms + 10 * GRACE_MS
    for source, target in (("X", "Y"), ("Y", "X"), ("X", "Z"), ("Z", "Y")):
        here, there = partition_log(world, index, source), partition_log(world, index, target)
        commits = np.arange(len(world.logs[source]) + 1)
        answers = translate_partition(commits, [None] * len(commits), here, there, Bounds(now_ms - GRACE_MS))
        for commit, answer in zip(commits.tolist(), answers.offset.tolist(), strict=True):
            read = world.logs[source][:commit]
            skipped = [each for each in world.logs[target][: max(answer, 0)] if each not in read]
            lost = [each for each in skipped if each in world.logs[source] or not world.may_be_skipped(each, read)]
            assert lost == [], (source, target, commit, answer)
