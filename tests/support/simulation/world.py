"""Clusters, mirrors and groups that live by one clock, and what really happened to every record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fakes.clusters import GroupOffset, MemoryCluster, MemoryEnds, MemoryTopic, place_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OWN_GROUPS, OffsetWrite, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from simulation.clock import SkewedClock
from simulation.commit_records import MadeMove, SimRecord, hash_of
from simulation.logs import Birth, Headers, Log, Record
from simulation.poll_world import PollWorld
from simulation.shape import Shape

if TYPE_CHECKING:
    from simulation.skipping import Memory

STARTED_MS = 1_795_000_000_000
GRACE_MS = 60_000


class Value(NamedTuple):
    """What a coordinator holds: *is_ours* where the sync wrote it, *life* is that of the log when it was written.

    *at_ms* is the word of the cluster, *true_ms* when it was.
    """

    offset: int
    at_ms: int
    is_ours: bool
    life: int
    true_ms: int


class Position(NamedTuple):
    """A group's partition at one cluster."""

    cluster: str
    group: str
    place: TopicPartition


class Genuine(NamedTuple):
    """A commit of the group itself, with the records that it claims to have read; times are those of a value."""

    offset: int
    at_ms: int
    claimed: int
    true_ms: int


class Stood(NamedTuple):
    """What a record of commits said, and where it is."""

    where: Position
    value: Value | None
    genuine: Genuine | None
    log_partition: int
    log_offset: int
    true_ms: int


class SimCluster(MemoryCluster):
    """A cluster of a world: its coordinator is the fakes', its logs are the world's."""

    def __init__(self, world: World, alias: str, skew_ms: int) -> None:
        super().__init__(alias, SkewedClock(world.clock_ms, skew_ms))  # type: ignore[arg-type]
        self.world = world
        self.ids = {place.topic: 0 for place in world.shape.places}
        self.partitions = Counter(place.topic for place in world.shape.places)
        self.parts = [self.log]  # of __consumer_offsets; only the first one ever loses its end
        self.coordinators = 1  # so many of them are used
        self.stood: list[Stood] = []
        self.commit_topic, self.commit_cuts = 0, list[int]()
        self.was_set = False  # its clock
        self.widest_ms, self.most_skew_ms = 0, abs(skew_ms)  # of what its clock was measured by
        self.is_closed = False  # its commit log cannot be read, for example without the right
        self.list_fault = ""  # what becomes of requests for groups that hold lists; "silent": of questions
        self.lists: dict[tuple[str, TopicPartition], str] = {}  # as we have written them last

    @property
    def is_unreadable(self) -> bool:
        """True where the log of commits cannot be read now."""
        return self.is_down or self.is_closed

    def turn(self, what: str, *, is_often: bool) -> bool:
        """End a fault of this cluster, or let it begin if that *is_often* enough; return whether it has it now."""
        setattr(self, what, not getattr(self, what) and is_often)
        return bool(getattr(self, what))

    def answer(self) -> ClusterMetadata | ClusterError:
        """Say what is asked of a cluster."""
        if self.is_down:
            return self._silence()
        topics = {name: MemoryTopic(f"{name}{self.ids[name]}@{self.alias}", n) for name, n in self.partitions.items()}
        here = {place: self.world.logs[self.alias, place] for place in self.world.shape.places}
        is_there = self.partitions.keys() - self.forbidden
        ends = {
            p: MemoryEnds(log.start, len(log.entries), len(log.cuts))
            for p, log in here.items()
            if p.topic in is_there and not self.is_without(p)
        }
        refused = {topic: ClusterError(self.alias, f"{topic} may not be described") for topic in sorted(self.forbidden)}
        return ClusterMetadata({name: topics[name] for name in topics if name in is_there}, ends, refused)

    def is_without(self, place: TopicPartition) -> bool:
        """Return whether the topic has fewer partitions here."""
        return place.topic in self.partitions and place.partition >= self.partitions[place.topic]

    def describe(self, topics: Sequence[str]) -> Mapping[str, MemoryTopic]:  # type: ignore[override]
        """Say what the index asks; raises when silent."""
        said = self.answer()
        if isinstance(said, ClusterError):
            raise said
        return {name: each for name, each in {**said.topics, **said.refused}.items() if name in topics}  # type: ignore[misc]

    def committed_offsets(self, groups: Sequence[str], deadline: float) -> Mapping[str, Any]:
        """Say what groups have committed."""
        found: dict[str, Any] = {**super().committed_offsets(groups, deadline)}
        if self.list_fault == "silent":
            found |= {group: self._silence() for group in groups if group.startswith(OWN_GROUPS)}
        return found

    def _keep_list(self, write: OffsetWrite) -> str | None:
        error, where = self.list_fault, Position(self.alias, write.group_id, place_of(write))
        if error in ("", "REQUEST_TIMED_OUT"):
            metadata, now = write.metadata, self.clock_ms[0]
            self.lists[where.group, where.place] = metadata
            record = SimRecord(where.group, where.place, write.offset, now, metadata, is_ours=True)
            self._append(where, record, None, None)
        return error or None

    def remove_lists(self, *, place: TopicPartition | None = None, group: str | None = None) -> None:
        """Delete the present lists, of one *place* or *group* if given."""
        for of_list, at in [each for each in self.group_offsets if each[0].startswith(OWN_GROUPS)]:
            if place in (None, at) and group in (None, of_list):
                record = SimRecord(of_list, at, None, self.clock_ms[0])
                self._append(Position(self.alias, of_list, at), record, None, None)

    def _write(self, write: OffsetWrite) -> str | None:
        if write.group_id.startswith(OWN_GROUPS):
            return self._keep_list(write)
        if self.world.active.get(write.group_id) == self.alias:
            return "UNKNOWN_MEMBER_ID"
        if self.is_without(place_of(write)):
            return "UNKNOWN_TOPIC_OR_PARTITION"
        where = Position(self.alias, write.group_id, place_of(write))
        self.world.on_write(where, write.offset)
        epoch = ABSENT if write.leader_epoch is None else write.leader_epoch
        self._put(where, write.offset, "", epoch, is_ours=True)
        self.world.brought[where] = write.offset
        return None

    def put(self, where: Position, offset: int, metadata: str = "", epoch: int = ABSENT) -> None:
        """Commit as another client than the sync does."""
        before = self.world.values.get(where)
        if before is not None and before.offset == offset:
            self.world.brought[where] = offset  # the values alone do not show it
        self._put(where, offset, metadata, epoch, is_ours=False)

    def _put(self, where: Position, offset: int, metadata: str, epoch: int = ABSENT, *, is_ours: bool) -> None:
        now = self.clock_ms[0]
        topic_id = f"{where.place.topic}{self.ids[where.place.topic]}@{self.alias}"
        writer = self.world.writer if is_ours else None
        record = SimRecord(
            where.group, where.place, offset, now, metadata, topic_id, epoch, is_ours=is_ours, writer=writer
        )
        self.world.placed[where] = offset
        life, true_ms = self.world.logs[self.alias, where.place].life, self.world.clock_ms[0]
        value = self.world.values[where] = Value(offset, now, is_ours, life, true_ms)
        self.world.touched[where] = None
        self._append(where, record, value, None if is_ours else self.world.genuine.get(where))

    def _append(self, where: Position, record: SimRecord, value: Value | None, genuine: Genuine | None) -> None:
        """Put a record into the log of the group's coordinator."""
        number = hash_of(where.group) % self.coordinators
        part = self.parts[number]
        self.stood.append(Stood(where, value, genuine, number, len(part), self.world.clock_ms[0]))
        part.append(replace(record, log_partition=number, true_ms=self.world.clock_ms[0]))
        self.group_offsets.pop((where.group, where.place), None)
        if record.offset is not None:
            self.group_offsets[where.group, where.place] = GroupOffset(record.offset, record.metadata)

    def remove(self, where: Position) -> None:
        """Delete a group's offset, which leaves a tombstone."""
        if self.world.values.pop(where, None) is not None:
            self._append(where, SimRecord(where.group, where.place, None, self.clock_ms[0]), None, None)
            self.world.deleted[where] = True

    def move_coordinators(self) -> None:
        """Have all partitions of ``__consumer_offsets`` be used, as after a restart of the brokers.

        Groups with another coordinator partition since have nothing there.
        """
        before, self.coordinators = self.coordinators, len(self.parts)
        for where, value in list(self.world.values.items()):
            number = hash_of(where.group)
            if where.cluster == self.alias and number % before != number % self.coordinators:
                self.world.hidden[where] = value
                del self.world.values[where]
                del self.group_offsets[where.group, where.place]
        for group, place in [each for each in self.group_offsets if each[0].startswith(OWN_GROUPS)]:
            number = hash_of(group)
            if number % before != number % self.coordinators:
                del self.group_offsets[group, place]

    def holds_older(self, where: Position) -> bool:
        """Return whether the present coordinator of a group has a record of an earlier time: by that one it goes."""
        part = self.parts[hash_of(where.group) % self.coordinators]
        return where in self.world.hidden and any(
            (each.group_id, each.place) == (where.group, where.place) for each in part
        )

    def set_clock(self, skew_ms: int) -> None:
        """Have its clock differ by so much from now on."""
        self.was_set = True
        self.clock_ms.skew_ms = skew_ms  # type: ignore[attr-defined]
        self.most_skew_ms = max(self.most_skew_ms, abs(skew_ms))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic for good, and what groups have committed of it."""
        self.partitions.pop(topic, None)
        for place in self.world.shape.places:
            if place.topic == topic:
                self.world.logs[self.alias, place].is_frozen = True
        for where in [each for each in self.world.values if (each.cluster, each.place.topic) == (self.alias, topic)]:
            self.remove(where)
        for place in self.world.shape.places:
            if place.topic == topic:
                self.remove_lists(place=place)

    def say_nothing(self) -> None:
        """Have a record more in ``__consumer_offsets``, of an unrelated group."""
        where = Position(self.alias, "nobody", self.world.shape.places[0])
        self._append(where, SimRecord(where.group, where.place, None, self.clock_ms[0]), None, None)

    def read_of_stood(self, position: Mapping[int, int]) -> list[Stood]:
        """Return what was read up to this *position* in each partition of ``__consumer_offsets``."""
        return [each for each in self.stood if each.log_offset < position.get(each.log_partition, 0)]

    def lose_commits(self, kept: int, *, is_recreated: bool) -> list[Position]:
        """Lose all but the first *kept* records of ``__consumer_offsets``; the coordinator loads what is left.

        Return the keys without a present commit of the group; its earlier commits still count.
        """
        if is_recreated:
            self.commit_topic, kept, self.commit_cuts = self.commit_topic + 1, 0, []
        else:
            self.commit_cuts.append(kept)
        self.world.memory.lose_commits(self.alias, kept)
        lost = dict.fromkeys(each.where for each in self.stood[kept:])
        del self.log[kept:], self.stood[kept:]
        last = {each.where: each.value for each in self.stood if each.where in lost}
        genuine = {each.where: each.genuine for each in self.stood if each.where in lost and each.genuine is not None}
        for where in lost:
            self._load(where, last.get(where))
            if where in genuine:
                self.world.genuine[where] = genuine[where]
                self.world.said_less.add(where)
            self.world.gone.add(where)
            self.world.rewound_ms.pop(where, None)
            self.world.placed.pop(where, None)  # a commit below records that are gone is no rewind
            if last.get(where) is not None:
                self.world.deleted.pop(where, None)
        return [where for where in lost if where not in genuine]

    def _load(self, where: Position, value: Value | None) -> None:
        self.group_offsets.pop((where.group, where.place), None)
        self.world.values.pop(where, None)
        if value is not None or where.group.startswith(OWN_GROUPS):
            found = [r for r in self.log if (r.group_id, r.place) == (where.group, where.place)]
            if found and found[-1].offset is not None:
                self.group_offsets[where.group, where.place] = GroupOffset(found[-1].offset, found[-1].metadata)
        if value is not None:
            self.world.values[where] = value


class World:
    """All clusters. *on_write* hears of a write before it happens, *touched* is to check, *memory* may be skipped."""

    memory: Memory

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.clock_ms = [STARTED_MS]
        self.logs = {(alias, place): Log() for alias in shape.clusters for place in shape.places}
        self.clusters = {a: SimCluster(self, a, skew) for a, skew in zip(shape.clusters, shape.skew_ms)}
        self.births: dict[TopicPartition, list[Birth]] = {place: [] for place in shape.places}
        self.values: dict[Position, Value] = {}
        self.genuine: dict[Position, Genuine] = {}
        self.claims: dict[tuple[Position, int, int], int] = {}
        self.rewound_ms: dict[Position, int] = {}
        self.deleted: dict[Position, bool] = {}
        self.read: dict[tuple[str, TopicPartition], int] = {}
        self.active: dict[str, str] = {}
        self.touched: dict[Position, None] = {}  # in an order that is the same in every process
        self.inexact: set[tuple[str, TopicPartition]] = set()  # what was lost elsewhere may hold answers back for good
        self.troubled: set[tuple[str, TopicPartition]] = set()  # logs that were cut or recreated
        self.beyond: set[tuple[Position, int, int]] = set()
        self.brought: dict[Position, int] = {}  # what the sync wrote last
        self.placed: dict[Position, int] = {}  # what was committed last, by any client
        self.passed: dict[Position, int] = {}  # what any commit there has claimed
        self.made: dict[tuple[Position, int, int], int] = {}  # when commits were made
        self.moves: list[MadeMove] = []  # in their order
        self.tried: Counter[tuple[Position, int | None]] = Counter()  # what the sync tried to write
        self.swapped: dict[Position, Counter[int | None]] = {}  # commits of groups that were taken for ours
        self.hidden: dict[Position, Value] = {}  # held by the previous coordinator, not by the present one
        self.made_error: dict[tuple[str, int, int], int] = {}  # by how much the time of a record of commits was missed
        self.taken_for_ours: set[tuple[str, int, int]] = set()  # records of commits that are not
        self.disputed: set[tuple[str, str]] = set()  # groups and topics of which two drivers told something else
        self.writer: object = None  # the process that writes now
        self.gone: set[Position] = set()  # its coordinator has lost commits
        self.said_less: set[Position] = set()  # ... which took back what the group had said last
        self.unheard: set[tuple[str, TopicPartition]] = set()  # ... before the sync has read them
        self.raced: set[Position] = set()  # another client committed the same value during our write
        self.is_index_lacking, self.polls = False, PollWorld(set(shape.polled))
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
        """Add to a log."""
        log = self.logs[alias, place]
        if log.is_frozen:
            return
        log.append(record)
        if self.beyond and record is not None:
            self._note_skipped(alias, place, record.number)
        if log.life:
            self.touch(alias, place)

    def _note_skipped(self, alias: str, place: TopicPartition, number: int) -> None:
        """Note which commits are above the log's end: the groups themselves will skip the records below them."""
        for where, offset, at_ms in self.beyond:
            if (where.cluster, where.place) == (alias, place) and offset >= self.logs[alias, place].end:
                self.claims[where, offset, at_ms] |= 1 << number
                self.read[where.group, place] |= 1 << number
                self.memory.note_read(where, 1 << number)
                self.passed[where] |= 1 << number
                genuine = self.genuine[where]
                if (genuine.offset, genuine.at_ms) == (offset, at_ms):
                    self.genuine[where] = genuine._replace(claimed=genuine.claimed | 1 << number)

    def touch(self, alias: str, place: TopicPartition) -> None:
        """Have all positions in a log checked: the records below them have changed."""
        self.touched.update(
            dict.fromkeys(where for where in self.values if where.cluster == alias and where.place == place)
        )

    def commit(self, where: Position, offset: int, metadata: str = "", read: int = 0, *, epoch: int = ABSENT) -> None:
        """Commit as the group does, which has *read* these records since its last commit, the last one of *epoch*."""
        log = self.logs[where.cluster, where.place]
        if self.clusters[where.cluster].is_without(where.place):
            return
        claimed, key = log.below[min(offset, log.end)], (where.group, where.place)
        self.read[key] = self.read.get(key, 0) | read
        self.note_home(where.cluster, where.group, where.place.topic)
        if epoch != ABSENT and log.lost_from(epoch) < offset:
            claimed &= log.below[log.lost_from(epoch)] | self.read[key]  # it says nothing about the present records
        cluster = self.clusters[where.cluster]
        now, true_ms = cluster.clock_ms[0], self.clock_ms[0]
        if (is_back := offset < self.placed.get(where, 0)) and where.cluster not in self.polls.clusters:
            self.rewound_ms[where] = true_ms
        self.genuine[where] = Genuine(offset, now, claimed, true_ms)
        self.claims[where, offset, now] = claimed
        self.passed[where] = self.passed.get(where, 0) | claimed
        self.made[where, offset, now] = true_ms
        if offset > log.end:
            self.beyond.add((where, offset, now))
        self.deleted.pop(where, None)
        cluster.put(where, offset, metadata, epoch)
        self.memory.note_commit(where, offset, claimed | read, is_back=is_back)

    def note_home(self, alias: str, group: str, topic: str) -> None:
        """Note that a group is at home at a cluster: what retention has deleted there it will not read any more.

        Also in partitions that it has not committed there: what we brought to them was set to the start of the log.
        """
        for place in self.shape.places:
            if place.topic == topic:
                log = self.logs[alias, place]
                self.read[group, place] = self.read.get((group, place), 0) | log.below[log.start]
                self.memory.note_read(Position(alias, group, place), log.below[log.start])
