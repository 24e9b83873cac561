"""Readers without membership: several of one group, each at its own cluster, that commit what they remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from offset_sync.model.values import TopicPartition
from simulation.commit_records import Position, SimRecord
from simulation.world import World


@dataclass
class Twin:
    """A reader of the group *name* at the cluster *at*; *seen* has what it has read, *committed* its last commits."""

    world: World
    name: str
    at: str
    position: dict[TopicPartition, int] = field(default_factory=dict)
    seen: dict[TopicPartition, int] = field(default_factory=dict)
    committed: dict[TopicPartition, SimRecord] = field(default_factory=dict)

    def restart(self) -> None:
        """Begin from what is committed, from the log's start where nothing is; what is below counts as seen."""
        for place in self.world.shape.places:
            self._begin(place)

    def _begin(self, place: TopicPartition) -> None:
        log = self.world.logs[self.at, place]
        value = self.world.values.get(Position(self.at, self.name, place))
        is_there = value is not None and log.start <= value.offset <= log.end
        self.position[place] = value.offset if value is not None and is_there else log.start
        self.seen[place] = self.seen.get(place, 0) | log.below[self.position[place]]

    def poll(self, place: TopicPartition, count: int) -> None:
        """Read up to *count* records."""
        log = self.world.logs[self.at, place]
        if place not in self.position or not log.start <= self.position[place] <= log.end:
            self._begin(place)
        last = min(self.position[place] + count, log.end)
        for record in log.entries[self.position[place] : last]:
            if record is not None:
                self.seen[place] |= 1 << record.number
        self.position[place] = last

    def commit(self, place: TopicPartition, _count: int) -> None:
        """Commit what it remembers, whatever is there; a coordinator takes it from no group with members."""
        log, cluster = self.world.logs[self.at, place], self.world.clusters[self.at]
        is_refused = self.world.active.get(self.name) == self.at or cluster.is_down
        if is_refused or place not in self.position or self.position[place] > log.end:
            return
        where = Position(self.at, self.name, place)
        self.world.commit(where, self.position[place], "offset-sync", self.seen[place])
        self.committed[place] = cluster.stood[-1]

    def last_commits(self, topic: str) -> list[SimRecord]:
        """Return its last commits of the partitions of a topic."""
        return [commit for place, commit in self.committed.items() if place.topic == topic]
