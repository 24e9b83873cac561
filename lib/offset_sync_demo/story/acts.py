"""The demo's first two acts: dc1 is killed under load and its groups start at dc2; then they move back as planned."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.clients import Partition
from offset_sync_demo.load.records import Records
from offset_sync_demo.story.crossing import CROSSING, CrossingAct
from offset_sync_demo.story.jobs import RunningJob, write_config
from offset_sync_demo.story.moves import Moves
from offset_sync_demo.story.oracle import compare_group
from offset_sync_demo.story.results import GroupResult
from offset_sync_demo.story.tables import Answer, GroupPartition, StoryTables
from offset_sync_demo.story.world import DC1, DC2, GROUPS, PARTITIONS, TOPICS, World

Say = Callable[[str], None]
_STAYED = Answer(0, None, "NOT_MOVED", "UNCHANGED", 0, 0, 0)
"""For a group that committed nothing at the source: it is still at home at the target, with its own commit."""
STEADY_SECONDS = 6.0
"""Answers are final after so long without a change: two reconcile passes, even if they query a dead cluster."""


@dataclass(frozen=True)
class Pace:
    """Durations of backlog, load and crossing in seconds, and the offset up to which lagging groups read."""

    backlog: float
    load: float
    lagging_stop: int
    crossing: float


FULL, QUICK = Pace(6.0, 40.0, 400, 15.0), Pace(3.0, 10.0, 300, 6.0)


class Story:
    """Plays the acts in *world*; *say* prints each step."""

    def __init__(self, world: World, directory: Path, tables: TableStore, pace: Pace, say: Say) -> None:
        self._world, self._pace, self._say = world, pace, say
        self._directory = directory
        self._config = directory / "demo.yaml"
        # MirrorMaker has topics of its own at both clusters, which no group reads.
        sections = {
            "topics": {"include": list(TOPICS)},
            "mirror": {"place_header": "Place"},
            "sync": {
                "trigger_interval": "1s",
                "reconcile_interval": "2s",
                "read_lists": {"groups": [group.group_id for group in CROSSING]},
            },
        }
        write_config(self._config, world.clusters, directory, sections)
        self._jobs: list[RunningJob] = []
        self._store, self._tables = tables, StoryTables(tables, self._check_jobs)
        self._moves = Moves(tables, self._config, say)
        self._killed_at = 0.0

    def start_jobs(self) -> None:
        """Start ``index_records``, ``sync_offsets`` and the load."""
        self._say("producing a backlog, starting index_records and sync_offsets")
        self._jobs = [RunningJob(name, self._config, self._directory) for name in ("index_records", "sync_offsets")]
        self._world.produce_backlog(self._pace.backlog)
        self._world.start_readers(DC1, stop_lagging_at=self._pace.lagging_stop)
        self._say("seven groups read at dc1; waiting for their first translated offsets at dc2")
        wanted = len(GROUPS) * PARTITIONS

        def is_synced() -> bool:
            answers = self._tables.answers(DC1, DC2).values()
            return sum(answer.target_offset is not None for answer in answers) >= wanted

        self._tables.wait_until(is_synced, "every group has an offset at dc2", 300.0)
        self._say(f"load: 260 records a second for {self._pace.load:.0f} s")
        time.sleep(self._pace.load)

    def disaster(self) -> list[GroupResult]:
        """Kill dc1 under load, start its groups at dc2, and return the cost."""
        world = self._world
        self._moves.rehearse(DC1, DC2, [group.group_id for group in GROUPS])
        self._say("SIGKILL to dc1's broker and to MirrorMaker 2")
        world.clusters[DC1].kill()
        world.mirror.kill()
        self._killed_at = time.time()
        world.stop_readers(DC1, kill=True, timeout=2.0)
        world.produce_only_at(DC2)
        self._say("waiting until the index covers dc2 and the last answers are final")
        self._tables.wait_for_index(DC2, world.ends(DC2))
        self._tables.wait_until_steady(DC1, DC2, STEADY_SECONDS)
        self._moves.after_a_disaster(DC1, DC2, [group.group_id for group in GROUPS])
        answers, captured = self._tables.answers(DC1, DC2), self._tables.captured(DC1)
        self._say("the groups start at dc2 as plain consumers and read to the end")
        world.start_readers(DC2, reset="error")
        world.read_to(DC2, world.ends(DC2))
        self._say("comparing what each group read before and after")
        return self._results(DC1, DC2, answers, captured)

    def come_back(self) -> list[GroupResult]:
        """Move the groups back to dc1 as planned work, and return the cost."""
        world = self._world
        self._say("dc1 and MirrorMaker 2 are started again; waiting until MirrorMaker 2 has caught up")
        world.clusters[DC1].restart()
        world.mirror.start()
        world.mirror.drain()
        self._say("all producers move to dc1; waiting until crossing records are mirrored and read by the groups")
        world.produce_all_at(DC1)
        self._moves.report()
        world.producers.wait_until_quiet(DC2)
        world.mirror.drain()
        world.read_to(DC2, world.ends(DC2))
        time.sleep(2.0)  # only records of dc1 follow the crossing ones
        world.mirror.drain()
        world.read_to(DC2, world.ends(DC2))
        self._moves.rehearse(DC2, DC1, [group.group_id for group in GROUPS])
        self._say("the groups stop at dc2")
        world.stop_readers(DC2, kill=False)
        # A group that committed nothing at dc2 has never left dc1.
        moving = [name for name, reader in world.readers[DC2].items() if reader.last_commits()]
        self._moves.as_planned(DC2, DC1, moving)
        answers = self._tables.answers(DC2, DC1)
        self._say("the groups start at dc1 and continue to read")
        before = self._world.readers[DC1]
        world.start_readers(DC1, reset="error")
        world.read_to(DC1, world.ends(DC1))
        self._say("comparing what each group read before and after")
        return self._results(DC2, DC1, answers, self._tables.captured(DC2), before)

    def cross(self, jar: Path) -> list[GroupResult]:
        """Move the groups of the topic produced at both clusters, without a wait, and return the cost."""
        act = CrossingAct(self._world, self._directory, self._store, self._moves, self._say, jar)
        return act.play(self._pace.crossing)

    def report(self) -> str:
        """Write the status page again and return its path; by now every group has read further at dc1."""
        return self._moves.report()

    def stop_jobs(self) -> list[int]:
        """Stop the jobs with SIGTERM; return their exit codes."""
        for job in self._jobs:
            job.terminate()
        return [job.stop() for job in self._jobs]

    def _check_jobs(self) -> None:
        for job in self._jobs:
            job.check()

    def _results(
        self,
        source: str,
        target: str,
        answers: Mapping[GroupPartition, Answer],
        captured: Mapping[GroupPartition, int],
        earlier: Mapping[str, object] | None = None,
    ) -> list[GroupResult]:
        world, results = self._world, []
        log = world.log_ids(target)
        # Producers continue: the groups must also read the records that have come since.
        world.read_to(target, {place: int(each.offsets[-1]) + 1 for place, each in log.items() if len(each)})
        for group in GROUPS:
            before, after = (world.readers[alias][group.group_id] for alias in (source, target))
            mine = {place: log[place] for place in log if place[0] == group.topic}
            elsewhere = earlier[group.group_id].records() if earlier is not None else {}  # type: ignore[attr-defined]
            measured = compare_group(
                before.records(),
                after.records(),
                mine,
                {place: captured.get((group.group_id, *place), 0) for place in mine},
                read_elsewhere={place: records.ids for place, records in elsewhere.items()},
            )
            found = {place: answers.get(_key(group.group_id, place), _STAYED) for place in mine}
            results.append(
                GroupResult(
                    group.group_id,
                    group.topic,
                    TOPICS[group.topic].shape,
                    behind=_records_from(mine, found),
                    staleness=self._staleness(source, group.group_id, captured),
                    predicted=sum(answer.duplicates for answer in found.values()),
                    predicted_at_most=sum(answer.duplicates_at_most for answer in found.values()),
                    states=frozenset(answer.state for answer in found.values()),
                    measured=measured,
                )
            )
        return results

    def _staleness(self, source: str, group_id: str, captured: Mapping[GroupPartition, int]) -> float:
        """Return the seconds from the oldest commit that was not captured to the kill; 0: all were captured."""
        missed = [
            commit.at
            for commit in self._world.readers[source][group_id].commits()
            if commit.offset > captured.get((group_id, *commit.partition), 0)
        ]
        return max(0.0, self._killed_at - min(missed)) if missed else 0.0


def _key(group_id: str, place: Partition) -> GroupPartition:
    return (group_id, *place)


def _records_from(log: Mapping[Partition, Records], answers: Mapping[Partition, Answer]) -> int:
    """Return the number of records at or after the answers; none for a group that kept its own commit."""
    starts = {place: answer.target_offset for place, answer in answers.items() if answer.target_offset is not None}
    return int(sum(np.count_nonzero(log[place].offsets >= start) for place, start in starts.items()))
