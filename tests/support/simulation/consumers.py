"""Consumer groups, and readers without membership: they read, commit, stop and start somewhere else; and elections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from offset_sync.model.values import ABSENT, TopicPartition
from simulation.logs import Log, Of, Position, SimRecord
from simulation.shape import Shape
from simulation.skipping import Skipper
from simulation.world import World

ByPlace = dict[TopicPartition, int]


def _passed(log: Log, life: ByPlace, place: TopicPartition, position: int) -> int:
    """Return what is below in a topic that was recreated: clients continue at their offsets, with its new id."""
    is_another = 0 in log.cuts[life[place] :]
    life[place] = log.life
    return log.below[min(position, log.end)] if is_another else 0


@dataclass
class Group:
    """One consumer group; *at* is the cluster at which it runs, *fresh* what it has read and not committed."""

    world: World
    name: str
    at: str | None = None
    position: ByPlace = field(default_factory=dict)
    fresh: ByPlace = field(default_factory=dict)
    metadata: str = ""
    names_epochs: bool = False
    epoch: ByPlace = field(default_factory=dict)  # of the record it has read last
    said: dict[Position, tuple[int, int]] = field(default_factory=dict)  # offset and epoch of its last commits
    life: ByPlace = field(default_factory=dict)  # of the log that it has read last
    skipper: Skipper | None = None  # of the consumer that runs, where the group has read lists

    def start(self, alias: str) -> None:
        """Run at *alias* from what is committed there, from the log's start where nothing is."""
        self.stop()
        self.at = self.world.active[self.name] = alias
        if self.name in self.world.shape.listed:
            self.skipper = Skipper(self.world, self.name)
        for place in self.world.shape.places:
            self.world.note_home(alias, self.name, place.topic)  # by its members alone, maybe
            log = self.world.logs[alias, place]
            stands = self.world.values.get(Position(alias, self.name, place))
            # Out of range: auto.offset.reset=earliest. What retention has deleted counts as read by the next commit.
            is_there = stands is not None and log.start <= stands.offset <= log.end
            self.position[place] = stands.offset if stands is not None and is_there else log.start
            self.fresh[place], self.life[place] = log.below[log.start], log.life
            self._take_over_epoch(place)
            # Values that we have written are judged, for any group that starts there.
            is_own = stands is not None and not stands.is_ours
            if is_there and is_own and stands.life != log.life and place not in self.epoch:
                # It is from before the log was cut, and does not say so: the group skips the records that came since.
                self.fresh[place] |= log.below[self.position[place]]

    def _take_over_epoch(self, place: TopicPartition) -> None:
        """Continue from the leader epoch of the committed offset, as clients do."""
        self.epoch.pop(place, None)
        where = Position(self.at or "", self.name, place)
        stands, (offset, epoch) = self.world.values.get(where), self.said.get(where, (-1, ABSENT))
        if stands is not None and not stands.is_ours and stands.offset == offset and epoch != ABSENT:
            self.epoch[place] = epoch

    def stop(self, *_where: object) -> None:
        """End without a commit."""
        self.at = None
        self.world.active.pop(self.name, None)

    def poll(self, place: TopicPartition, count: int) -> None:
        """Read up to *count* records, without a commit."""
        if self.at is None:
            return
        log = self.world.logs[self.at, place]
        first = self.position[place]
        if place in self.epoch and log.lost_from(self.epoch[place]) < first:
            first = log.lost_from(self.epoch[place])  # as clients do that know which leader they have read from
        if first > log.end or first < log.start:
            first, self.fresh[place] = log.start, self.fresh[place] | log.below[log.start]
        self.fresh[place] |= _passed(log, self.life, place, self.position[place])
        last = min(first + count, log.end)
        polled = {at: record.number for at, record in enumerate(log.entries[first:last], first) if record is not None}
        delivered = [*polled]
        if self.skipper is not None:
            delivered = self.skipper.unread(self.at, place, delivered, self.fresh[place])
        for offset in delivered:
            self.fresh[place] |= 1 << polled[offset]
        self.position[place] = last
        if self.names_epochs and first < last:
            self.epoch[place] = log.epoch_of(last - 1)

    def commit(self, place: TopicPartition, *_count: int) -> None:
        """Commit its position, whether anything was read or not."""
        if self.at is None or self.position[place] > self.world.logs[self.at, place].end:
            return
        where, epoch = Position(self.at, self.name, place), self.epoch.get(place, ABSENT)
        self.fresh[place] |= _passed(self.world.logs[self.at, place], self.life, place, self.position[place])
        self.world.commit(where, self.position[place], self.metadata, self.fresh[place], epoch=epoch)
        self.said[where] = self.position[place], epoch
        self.fresh[place] = 0

    def reset(self, alias: str, place: TopicPartition, offset: int) -> None:
        """Have an operator set the offset at *alias*, where the group does not run: what is below counts as read."""
        if self.at == alias:
            return
        log = self.world.logs[alias, place]
        self.world.commit(Position(alias, self.name, place), offset, "", log.below[min(offset, log.end)])

    def expire(self) -> None:
        """Have its offsets deleted everywhere, as brokers do a week after it was there last."""
        if self.at is None:
            for where in [each for each in self.world.values if each.group == self.name]:
                self.world.clusters[where.cluster].remove(where)


def names_epochs(shape: Shape, number: int) -> bool:
    """Return whether the group of this *number* says which leader it has read from: without elections one in two."""
    return "elected" in shape.faults or number % 2 == len(shape.routes) // 2 % 2


def elect(world: World, groups: Sequence[Group], seen_end: int, of_log: Of, chance: float) -> None:
    """Elect a leader without the records written since the log ended at *seen_end*, and continue from there.

    The *groups* at that cluster had read to the end; they commit that before they ask the new leader for anything, and
    some end then: others notice as soon as they read on.
    """
    alias, place = of_log
    log, here = world.logs[of_log], [group for group in groups if group.at == alias]
    for _ in range(1 + int(chance * 3)):
        world.produce(alias, place)
    for group in here:
        group.poll(place, log.end)
    lost = log.end - max(log.start, seen_end)
    log.cut(log.end - lost)
    for _ in range(lost + int(chance * 3)):
        world.produce(alias, place)
    for group in here:
        group.commit(place)
        if chance < 0.5:
            group.stop()


@dataclass
class Twin:
    """A reader of the group *name* at the cluster *at*; *seen* has what it has read, *committed* its last commits."""

    world: World
    name: str
    at: str
    position: ByPlace = field(default_factory=dict)
    seen: ByPlace = field(default_factory=dict)
    committed: dict[TopicPartition, SimRecord] = field(default_factory=dict)
    life: ByPlace = field(default_factory=dict)

    def restart(self) -> None:
        """Begin from what is committed, from the log's start where nothing is; what is below counts as seen."""
        for place in self.world.shape.places:
            self._begin(place)

    def _begin(self, place: TopicPartition) -> None:
        log = self.world.logs[self.at, place]
        value = self.world.values.get(Position(self.at, self.name, place))
        is_there = value is not None and log.start <= value.offset <= log.end
        self.position[place] = value.offset if value is not None and is_there else log.start
        self.seen[place], self.life[place] = self.seen.get(place, 0) | log.below[self.position[place]], log.life

    def poll(self, place: TopicPartition, count: int) -> None:
        """Read up to *count* records."""
        log = self.world.logs[self.at, place]
        if place not in self.position or not log.start <= self.position[place] <= log.end:
            self._begin(place)
        self.seen[place] |= _passed(log, self.life, place, self.position[place])
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
        self.seen[place] |= _passed(log, self.life, place, self.position[place])
        self.world.commit(where, self.position[place], "offset-sync", self.seen[place])
        self.committed[place] = cluster.stood[-1]

    def last_commits(self, topic: str) -> list[SimRecord]:
        return [commit for place, commit in self.committed.items() if place.topic == topic]
