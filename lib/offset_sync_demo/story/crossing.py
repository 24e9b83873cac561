"""The demo's third act: groups move while producers write at both clusters, and skip records they have read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from offset_sync.tables.catalog import CUTOVERS
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.clients import Partition
from offset_sync_demo.load.console_reader import ConsoleReader, committed, stop_all
from offset_sync_demo.load.group_reader import stop_readers
from offset_sync_demo.load.records import Records
from offset_sync_demo.story.moves import Moves
from offset_sync_demo.story.oracle import compare_group
from offset_sync_demo.story.results import GroupResult
from offset_sync_demo.story.world import DC1, DC2, GROUPS, TOPICS, DemoGroup, World

TOPIC = "orders"
CROSSING = tuple(group for group in GROUPS if group.topic == TOPIC)
"""The groups of the topic that is produced at both clusters."""
PLAIN = "reports"
"""The group whose consumer has no interceptor."""
LATE_S = 2.0


class CrossingAct:
    """Plays the act in *world*, where all groups are at dc1; *jar* has the interceptor."""

    def __init__(
        self, world: World, directory: Path, tables: TableStore, moves: Moves, say: Callable[[str], None], jar: Path
    ) -> None:
        self._world, self._tables, self._moves, self._say = world, tables, moves, say
        self._directory, self._jar = directory / "consumers", jar

    def play(self, seconds: float) -> list[GroupResult]:
        """Move the groups to dc2 after *seconds* of load, and return the cost."""
        world = self._world
        self._say(f"producers write at both clusters for {seconds:.0f} s; console consumers read at dc1")
        world.share_as_planned()
        stop_readers([world.readers[DC1][group.group_id] for group in CROSSING])
        begun = {group.group_id: committed(world.clusters[DC1], group.group_id) for group in CROSSING}
        here = self._start(DC1)
        self._wait_until_read(DC1, here)
        time.sleep(seconds)
        self._moves.rehearse(DC1, DC2, [group.group_id for group in CROSSING])
        self._say(f"the mirror pauses, and the consumers stop {LATE_S:.0f} s later: records of {LATE_S:.0f} s cross")
        with world.mirror.paused():
            time.sleep(LATE_S)
            stop_all(list(here.values()))
        ended = {group.group_id: committed(world.clusters[DC1], group.group_id) for group in CROSSING}
        skipping = [group.group_id for group in CROSSING if group.group_id != PLAIN]
        self._moves.by_lists(DC1, DC2, skipping)
        self._moves.by_lists(DC1, DC2, [PLAIN], is_unproven=True)
        self._say("the groups start at dc2 and continue to read")
        there = self._start(DC2)
        self._wait_until_read(DC2, there)
        stop_all(list(there.values()))
        self._say("comparing what each group read before and after")
        logs = {alias: world.log_ids(alias) for alias in (DC1, DC2)}
        return [self._result(group, begun, ended, here, there, logs) for group in CROSSING]

    def _wait_until_read(self, alias: str, readers: Mapping[str, ConsoleReader]) -> None:
        ends = {place: end for place, end in self._world.ends(alias).items() if place[0] == TOPIC}
        for reader in readers.values():
            reader.wait_until(ends)

    def _start(self, alias: str) -> dict[str, ConsoleReader]:
        cluster = self._world.clusters[alias]
        return {
            group.group_id: ConsoleReader(
                cluster,
                group.group_id,
                TOPIC,
                group.protocol,
                self._directory,
                None if group.group_id == PLAIN else self._jar,
            )
            for group in CROSSING
        }

    def _result(
        self,
        group: DemoGroup,
        begun: Mapping[str, Mapping[Partition, int]],
        ended: Mapping[str, Mapping[Partition, int]],
        here: Mapping[str, ConsoleReader],
        there: Mapping[str, ConsoleReader],
        logs: Mapping[str, Mapping[Partition, Records]],
    ) -> GroupResult:
        group_id = group.group_id
        before, after, reached = here[group_id].records(), there[group_id].records(), there[group_id].committed()
        # Before the act it had read the records below its commit at dc1.
        at_dc1 = {place: below(log, begun[group_id].get(place, 0)) for place, log in logs[DC1].items()}
        mine = {place: below(log, reached.get(place, 0)) for place, log in logs[DC2].items() if place[0] == TOPIC}
        measured = compare_group(
            before, after, mine, ended[group_id], read_elsewhere={place: each.ids for place, each in at_dc1.items()}
        )
        starts, listed = self._moved(group_id)
        predicted = listed if group_id == PLAIN else 0
        return GroupResult(
            group_id,
            TOPIC,
            TOPICS[TOPIC].shape,
            behind=sum(int((log.offsets >= starts[place]).sum()) for place, log in mine.items()),
            staleness=0.0,
            predicted=predicted,
            predicted_at_most=predicted,
            states=frozenset({"EXACT"}),
            measured=measured,
            skipped=0 if group_id == PLAIN else listed,
        )

    def _moved(self, group_id: str) -> tuple[dict[Partition, int], int]:
        """Return the offsets at which the group started at dc2, and how many records its lists had."""
        wanted = {"group_id": group_id, "step": "commit", "source_cluster": DC1, "target_cluster": DC2}
        rows = [row for row in self._tables.all_rows(CUTOVERS).to_pylist() if row.items() >= wanted.items()]
        listed = sorted((row for row in rows if row["skipped"] is not None), key=lambda row: row["at"])
        moved = {(row["stream"], row["partition"]): row for row in listed}
        starts = {place: row["target_offset"] for place, row in moved.items()}
        return starts, sum(row["skipped"] for row in moved.values())


def below(log: Records, offset: int) -> Records:
    """Return the records below an offset."""
    kept = np.flatnonzero(log.offsets < offset)
    return Records(log.ids[kept], log.offsets[kept], log.timestamps[kept])
