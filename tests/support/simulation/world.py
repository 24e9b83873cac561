"""Clusters, mirrors and groups that live by one clock, and what really happened to every record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakes.clusters import GroupOffset, MemoryCluster, MemoryEnds, MemoryTopic
from offset_sync.kafka.requests import partition_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OWN_GROUPS, OffsetWrite, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync_consumer.progress import Commit
from simulation.logs import Birth, Headers, Log, MadeMove, Of, Position, Record, SimRecord, hash_of
from simulation.shape import Shape

if TYPE_CHECKING:
    from simulation.skipping import Memory

STARTED_MS = 1_795_000_000_000
GRACE_MS = 60_000


@dataclass
class SkewedClock:
    """A cluster's clock, which differs from the others by *skew_ms*; read as the fakes read theirs."""

    common: list[int]
    skew_ms: int

    def __getitem__(self, _zero: int) -> int:
        return self.common[0] + self.skew_ms


class SimCluster(MemoryCluster):
    """A cluster of a world: its coordinator is the fakes', its logs are the world's."""

    clock_ms: SkewedClock  # type: ignore[assignment]

    def __init__(self, world: World, alias: str, skew_ms: int) -> None:
        super().__init__(alias, SkewedClock(world.clock_ms, skew_ms))  # type: ignore[arg-type]
        self.world = world
        self.ids = {place.topic: 0 for place in world.shape.places}
        self.partitions = Counter(place.topic for place in world.shape.places)
        self.parts: list[list[Any]] = [self.log]  # of __consumer_offsets; only the first one ever loses its end
        self.coordinators = 1  # so many of them are used
        self.stood: list[SimRecord] = []  # the same in the order of time
        self.commit_topic, self.commit_cuts = 0, list[int]()
        self.was_set = False  # its clock
        self.widest_ms, self.most_skew_ms = 0, abs(skew_ms)  # of what its clock was measured by
        self.is_closed = False  # its commit log cannot be read, for example without the right
        self.list_fault = ""  # what becomes of requests for groups that hold lists; "silent": of questions
        self.lists: dict[Of, str] = {}  # as we have written them last

    @property
    def is_unreadable(self) -> bool:
        """True where the log of commits cannot be read now."""
        return self.is_down or self.is_closed

    def turn(self, what: str, *, is_often: bool) -> bool:
        """End a fault of this cluster, or let it begin if that *is_often* enough; return whether it has it now."""
        setattr(self, what, not getattr(self, what) and is_often)
        return bool(getattr(self, what))

    def topic_id(self, topic: str) -> str:
        return f"{topic}{self.ids[topic]}@{self.alias}"

    def answer(self) -> ClusterMetadata | ClusterError:
        if self.is_down:
            return self._silence()
        topics = {each: MemoryTopic(self.topic_id(each), n) for each, n in self.partitions.items()}
        seen = {name: topic for name, topic in topics.items() if name not in self.forbidden}
        here = {place: self.world.logs[self.alias, place] for place in self.world.shape.places}
        here = {place: log for place, log in here.items() if place.topic in seen and not self.is_without(place)}
        ends = {place: MemoryEnds(log.start, log.end, len(log.cuts)) for place, log in here.items()}
        refused = {topic: ClusterError(self.alias, f"{topic} may not be described") for topic in sorted(self.forbidden)}
        return ClusterMetadata(seen, ends, refused)

    def is_without(self, place: TopicPartition) -> bool:
        """Return whether the topic has fewer partitions here."""
        return place.topic in self.partitions and place.partition >= self.partitions[place.topic]

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        found: dict[str, Any] = {**super().committed_offsets(groups, deadline)}
        if self.list_fault == "silent":
            found |= {group: self._silence() for group in groups if group.startswith(OWN_GROUPS)}
        return found

    def remove_lists(self, *, place: TopicPartition | None = None, group: str | None = None) -> None:
        """Delete the present lists, of one *place* or *group* if given."""
        for of_list, at in [each for each in self.group_offsets if each[0].startswith(OWN_GROUPS)]:
            if place in (None, at) and group in (None, of_list):
                self._append(Position(self.alias, of_list, at))

    def _write(self, write: OffsetWrite) -> str | None:
        where, epoch = Position(self.alias, write.group_id, partition_of(write)), write.leader_epoch
        if write.group_id.startswith(OWN_GROUPS):
            if self.list_fault in ("", "REQUEST_TIMED_OUT"):
                self.lists[where.of_group] = write.metadata
                self._append(where, write.offset, metadata=write.metadata, is_ours=True)
            return self.list_fault or None
        if self.world.active.get(write.group_id) == self.alias:
            return "UNKNOWN_MEMBER_ID"
        if self.is_without(where.place):
            return "UNKNOWN_TOPIC_OR_PARTITION"
        self.world.on_write(where, write.offset)
        written = self.put(where, write.offset, epoch=ABSENT if epoch is None else epoch, is_ours=True)
        written.writer, written.life = self.world.writer, self.world.lives[where.of_log]
        self.world.brought[where] = write.offset
        return None

    def put(self, where: Position, offset: int, *, epoch: int, **more: Any) -> SimRecord:
        topic_id, life = self.topic_id(where.place.topic), self.world.logs[where.of_log].life
        record = self._append(where, offset, topic_id=topic_id, life=life, leader_epoch=epoch, **more)
        self.world.placed[where] = offset
        self.world.values[where] = record
        self.world.touched[where] = None
        return record

    def _append(self, where: Position, offset: int = ABSENT, **more: Any) -> SimRecord:
        """Put a record into the log of the group's coordinator, without an *offset* a tombstone."""
        number = hash_of(where.group) % self.coordinators
        part, true_ms = self.parts[number], self.world.clock_ms[0]
        record = SimRecord(where, offset, self.clock_ms[0], number, len(part), true_ms, **more)
        part.append(record)
        self.stood.append(record)
        self._hold(record)
        return record

    def _hold(self, record: SimRecord) -> None:
        self.group_offsets.pop(record.where.of_group, None)
        if record.offset != ABSENT:
            self.group_offsets[record.where.of_group] = GroupOffset(record.offset, record.metadata)

    def remove(self, where: Position) -> None:
        """Delete a group's offset, which leaves a tombstone."""
        if self.world.values.pop(where, None) is not None:
            self._append(where)
            self.world.deleted.add(where)

    def move_coordinators(self) -> None:
        """Have all partitions of ``__consumer_offsets`` be used: groups with another one since have nothing there."""
        before, self.coordinators = self.coordinators, len(self.parts)
        for of_group in list(self.group_offsets):
            where, number = Position(self.alias, *of_group), hash_of(of_group[0])
            if number % before != number % self.coordinators:
                del self.group_offsets[of_group]
                if where in self.world.values:
                    self.world.hidden[where] = self.world.values.pop(where)

    def holds_older(self, where: Position) -> bool:
        """Return whether the present coordinator of a group has a record of an earlier time: by that one it goes."""
        part = self.parts[hash_of(where.group) % self.coordinators]
        return where in self.world.hidden and any(each.where == where for each in part)

    def set_clock(self, skew_ms: int) -> None:
        self.was_set, self.clock_ms.skew_ms = True, skew_ms
        self.most_skew_ms = max(self.most_skew_ms, abs(skew_ms))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic for good, and what groups have committed of it."""
        self.partitions.pop(topic, None)
        places = [place for place in self.world.shape.places if place.topic == topic]
        for place in places:
            self.world.logs[self.alias, place].is_frozen = True
        self.remove_of(*places)

    def remove_of(self, *places: TopicPartition) -> None:
        """Delete what groups have committed of *places*, and their lists."""
        for where in [each for each in self.world.values if each.cluster == self.alias and each.place in places]:
            self.remove(where)
        for place in places:
            self.remove_lists(place=place)

    def say_nothing(self) -> None:
        """Have a record more in ``__consumer_offsets``, of an unrelated group."""
        self._append(Position(self.alias, "nobody", self.world.shape.places[0]))

    def lose_commits(self, kept: int, *, is_recreated: bool) -> list[Position]:
        """Lose all but the first *kept* records of ``__consumer_offsets``; return the keys without a group's commit."""
        if is_recreated:
            self.commit_topic, kept, self.commit_cuts = self.commit_topic + 1, 0, []
        else:
            self.commit_cuts.append(kept)
        world = self.world
        world.memory.lose_commits(self.alias, kept)
        lost = dict.fromkeys(each.where for each in self.stood[kept:])
        del self.log[kept:], self.stood[kept:]
        last = {each.where: each for each in self.stood}
        genuine = {each.where: each for each in self.stood if each.offset != ABSENT and not each.is_ours}
        for where in lost:
            self.group_offsets.pop(where.of_group, None)
            world.values.pop(where, None)
            if where in last:
                self._hold(last[where])
                counts_as_ours = last[where].is_ours or last[where].is_taken_for_ours
                world.ours[where] = last[where].offset if counts_as_ours else None
                if last[where].offset != ABSENT and not where.group.startswith(OWN_GROUPS):
                    world.values[where] = last[where]
                    world.deleted.discard(where)
            if where in genuine:
                world.genuine[where] = genuine[where]
                world.said_less.add(where)
            world.gone.add(where)
            world.forget_place(where)  # a commit below records that are gone is no rewind
        return [where for where in lost if where not in genuine]


class World:
    """All clusters. *on_write* hears of a write before it happens, *touched* is to check, *memory* may be skipped."""

    memory: Memory

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.clock_ms = [STARTED_MS]
        self.logs = {(alias, place): Log() for alias in shape.clusters for place in shape.places}
        self.clusters = {a: SimCluster(self, a, skew) for a, skew in zip(shape.clusters, shape.skew_ms)}
        self.births: dict[TopicPartition, list[Birth]] = {place: [] for place in shape.places}
        self.values: dict[Position, SimRecord] = {}  # what coordinators hold
        self.genuine: dict[Position, SimRecord] = {}  # the last commits of groups themselves
        # Those of groups by what the sync knows of them: the offset, and a time.
        self.made: dict[tuple[Position, int, int], SimRecord] = {}
        self.rewound_ms: dict[Position, int] = {}
        self.deleted: set[Position] = set()
        self.read: Counter[Of] = Counter()  # masks of what groups have read
        self.active: dict[str, str] = {}
        self.touched: dict[Position, None] = {}  # in an order that is the same in every process
        self.inexact: set[Of] = set()  # what was lost elsewhere may hold answers back for good
        self.troubled: set[Of] = set()  # logs that were cut or recreated
        self.beyond: list[SimRecord] = []
        self.brought: dict[Position, int] = {}  # what the sync wrote last
        self.placed: dict[Position, int] = {}  # what was committed last, by any client
        self.passed: Counter[Position] = Counter()  # what any commit there has claimed
        self.moves: list[MadeMove] = []  # in their order
        self.tried: Counter[tuple[Position, int]] = Counter()  # what the sync tried to write
        self.swapped: dict[Position, Counter[int]] = {}  # commits of groups that were taken for ours
        self.hidden: dict[Position, SimRecord] = {}  # held by the previous coordinator, not by the present one
        self.disputed: set[tuple[str, str]] = set()  # groups and topics of which two drivers told something else
        self.writer: object = None  # the process that writes now ...
        self.lives: Mapping[Of, int] = {}  # ... and the lives of logs when it asked
        self.gone: set[Position] = set()  # its coordinator has lost commits
        self.said_less: set[Position] = set()  # ... which took back what the group had said last
        self.unheard: set[Of] = set()  # ... before the sync has read them
        self.raced: set[Position] = set()  # another client committed the same value during our write
        self.used: dict[Position, Commit] = {}  # what consumers have said of the lists that they use
        self.is_index_lacking = False
        self.polled, self.excluded = set(shape.polled), set[str]()  # clusters now; groups that are not synced
        # Coordinators do not answer for these groups, True: for now, False: for lack of a right.
        self.unasked: dict[tuple[str, str], bool] = {}
        self.written: dict[Position, Counter[int]] = {}  # what was acknowledged, and how often
        self.ours: dict[Position, int | None] = {}  # the value of the last record that was read, if it counts as ours
        self.doubted: set[tuple[Position, int]] = set()  # of these writes it is unknown whether they were made
        # Steps back are noticed up to this record of the commit log: between two polls some are not.
        self.noticed: dict[Position, int] = {}
        self.on_write: Callable[[Position, int], None] = lambda where, offset: None
        for alias, place in shape.narrow:
            self.clusters[alias].partitions[place.topic] -= 1
            self.logs[alias, place].is_frozen = True

    def produce(self, alias: str, place: TopicPartition, headers: Headers | None = None, is_odd: bool = False) -> None:
        """Write a new record; with *headers* that no producer should write."""
        log, births = self.logs[alias, place], self.births[place]
        if log.is_frozen:
            return
        births.append(Birth(alias, log.end, log.life))
        self.append(alias, place, Record(len(births) - 1, headers, is_odd))

    def append(self, alias: str, place: TopicPartition, record: Record | None) -> None:
        log = self.logs[alias, place]
        if log.is_frozen:
            return
        log.append(record)
        for said in self.beyond:
            # It is above the log's end: the group itself will skip the records below it.
            if record is not None and said.where.of_log == (alias, place) and said.offset >= log.end:
                said.claimed |= (number := 1 << record.number)
                self.read[said.where.of_group] |= number
                self.memory.note_read(said.where, number)
                self.passed[said.where] |= number
        if log.life:
            self.touch(alias, place)

    def touch(self, alias: str, place: TopicPartition) -> None:
        """Have all positions in a log checked: the records below them have changed."""
        self.touched.update(dict.fromkeys(where for where in self.values if where.of_log == (alias, place)))

    def commit(self, where: Position, offset: int, metadata: str = "", read: int = 0, *, epoch: int = ABSENT) -> None:
        """Commit as the group does, which has *read* these records since its last commit, the last one of *epoch*."""
        log, cluster = self.logs[where.of_log], self.clusters[where.cluster]
        if cluster.is_without(where.place):
            return
        claimed = log.below[min(offset, log.end)]
        self.read[where.of_group] |= read
        self.note_home(where.cluster, where.group, where.place.topic)
        if epoch != ABSENT and log.lost_from(epoch) < offset:
            # It says nothing about the present records.
            claimed &= log.below[log.lost_from(epoch)] | self.read[where.of_group]
        is_back, before = offset < self.placed.get(where, 0), self.values.get(where)
        if before is not None and before.offset == offset:
            self.brought[where] = offset  # the values alone do not show it
        said = cluster.put(where, offset, epoch=epoch, metadata=metadata, claimed=claimed)
        if is_back and where.cluster not in self.polled:
            self.rewound_ms[where] = said.true_ms
        self.genuine[where] = self.made[where, offset, said.at_ms] = said
        self.passed[where] |= claimed
        if offset > log.end:
            self.beyond.append(said)
        self.deleted.discard(where)
        self.memory.note_commit(said, claimed | read, is_back=is_back)

    def forget_place(self, where: Position) -> None:
        """Have no later commit there count as one that goes back."""
        self.rewound_ms.pop(where, None)
        self.placed.pop(where, None)

    def note_home(self, alias: str, group: str, topic: str) -> None:
        """Note that a group is at home at a cluster: what retention has deleted of any partition there it has read."""
        for place in self.shape.places:
            if place.topic == topic:
                log = self.logs[alias, place]
                self.read[group, place] |= log.below[log.start]
                self.memory.note_read(Position(alias, group, place), log.below[log.start])
