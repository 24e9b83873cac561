"""Consumers that skip what their group has read elsewhere, and what they may skip: by contents, and since it went back.

They are the real ones, as far as they decide; what may be skipped is judged without the code under test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from offset_sync.model.values import TopicPartition
from offset_sync_consumer.progress import Progress
from offset_sync_consumer.read_list import ReadList, decode_read_list
from simulation.knowledge import UNCERTAIN_MS
from simulation.logs import Of, Position, SimRecord
from simulation.oracle import Violation
from simulation.world import World


def list_at(world: World, where: Position) -> ReadList | None:
    """Return a group's present list, as its consumers take it; None: there is none."""
    stands = world.clusters[where.cluster].group_offsets.get((list_group(where.group), where.place))
    found = decode_read_list(stands.metadata) if stands is not None else None
    is_right = found and stands and (found.cluster, found.start) == (f"id-of-{where.cluster}", stands.offset)
    return found if is_right else None


def list_group(group: str) -> str:
    """Return the group whose commits are the lists of *group*."""
    return f"__offset-sync.read.{group}"


def of_list_group(where: Position) -> Position:
    """Return the place of the group of whose list this is the place."""
    return where._replace(group=where.group.removeprefix(list_group("")))


@dataclass
class Skipper:
    """What takes records out of the polls of a consumer of the group *name*; a new consumer has a new one."""

    world: World
    name: str
    progress: defaultdict[TopicPartition, Progress] = field(default_factory=lambda: defaultdict(Progress))

    def unread(self, alias: str, place: TopicPartition, polled: Sequence[int], fresh: int) -> list[int]:
        """Return those offsets of the *polled* that are delivered; *fresh* is what was since its last commit."""
        if not polled:
            return []
        where, log, progress = Position(alias, self.name, place), self.world.logs[alias, place], self.progress[place]
        now_ms = self.world.clock_ms[0]
        if progress.is_due(polled[0], now_ms):
            self._ask(where, progress, polled[0], now_ms)
        skipped = {offset for offset in polled if progress.is_read(offset, log.epoch_of(offset))}
        for offset in sorted(skipped):
            record = log.entries[offset]
            if record is not None and not fresh >> record.number & 1:
                self.world.memory.check_skipped(where, offset, record.number)
        progress.has_passed(polled[-1], len(skipped), now_ms)
        return [offset for offset in polled if offset not in skipped]

    def _ask(self, where: Position, progress: Progress, first: int, now_ms: int) -> None:
        progress.begin(first)
        cluster, used, own = self.world.clusters[where.cluster], self.world.used, self.world.values.get(where)
        if not cluster.is_down and cluster.list_fault != "silent":
            committed = own.offset if own is not None else None
            uses = progress.take(list_at(self.world, where), committed, used.get(where), first, now_ms, "")
            if uses is not None:
                used[where] = uses


def is_skipped(world: World, where: Position, found: ReadList | None, offset: int) -> bool:
    """Return whether a consumer that has *found* this list may not deliver the record at an offset."""
    epoch = world.logs[where.of_log].epoch_of(offset)
    return found is not None and found.contains(offset) and epoch <= found.epoch


@dataclass
class Rewind:
    """A commit that went back, what is *unread* by it, and where lists have *heeded* it: the sync knew of it."""

    said: SimRecord
    unread: int
    heeded: set[str] = field(default_factory=set)


class Memory:
    """What groups have read by the contents of logs and by rewinds."""

    def __init__(self, world: World) -> None:
        self._world, self._ever, self._read = world, Counter[Of](), Counter[Of]()
        self._rewinds = defaultdict[Of, list[Rewind]](list)

    def note_read(self, where: Position, claimed: int) -> None:
        """Note that a group has read these records."""
        self._ever[where.of_group] |= claimed
        self._read[where.of_group] |= claimed

    def note_commit(self, said: SimRecord, claimed: int, *, is_back: bool) -> None:
        """Note a commit that has just been made: all above the position that a group was set back to is unread."""
        log, key = self._world.logs[said.where.of_log], said.where.of_group
        if is_back:
            above = log.below[-1] & ~log.below[min(said.offset, log.end)]
            self._read[key] &= ~above
            claimed &= ~above
            self._rewinds[key].append(Rewind(said, above))
        self.note_read(said.where, claimed)

    def check_skipped(self, where: Position, offset: int, number: int) -> None:
        """Raise Violation where a record is lost that its group has not read, or has to read again."""
        key, words = where.of_group, f"{where}: record {number} at {offset} is skipped"
        if self._read[key] >> number & 1:
            return
        if not self._ever[key] >> number & 1:
            raise Violation("skipped", f"{words}, and was never read")
        if not any(each.unread >> number & 1 and where.cluster not in each.heeded for each in self._rewinds[key]):
            raise Violation("skipped again", f"{words}, and its group has gone back")

    def check_list(self, where: Position) -> None:
        """Raise Violation if a group's present list would make its consumers lose a record."""
        log, found = self._world.logs[where.of_log], list_at(self._world, where)
        stands = self._world.values.get(where)
        if found is None or stands is None:
            return
        for offset in range(max(log.start, stands.offset), log.end):
            record = log.entries[offset]
            if record is not None and is_skipped(self._world, where, found, offset):
                self.check_skipped(where, offset, record.number)

    def lose_commits(self, alias: str, kept: int) -> None:
        """Note that a cluster has lost all but so many records of commits: rewinds there are gone."""
        for key, rewinds in self._rewinds.items():
            lost = [each for each in rewinds if each.said.where.cluster == alias and each.said.log_offset >= kept]
            self._rewinds[key] = [each for each in rewinds if each not in lost]
            for each in lost:
                self._read[key] |= each.unread & self._ever[key]

    def heed(self, key: Of, targets: Iterable[str], until_ms: int) -> None:
        """Note that *targets* hold the answer to a commit that was made at a time, and the list that goes with it."""
        for each in self._rewinds[key]:
            if each.said.true_ms <= until_ms and not self._is_mistaken(each.said):
                each.heeded.update({*targets} - self._moved_to(each.said))

    def _moved_to(self, said: SimRecord) -> set[str]:
        """Return where the group was moved just before: drivers notice that later, so the rewind elsewhere is over."""
        of, stream = said.where, (said.where.group, said.where.place.topic)
        moves = [each for each in self._world.moves if each.stream == stream and each.cluster != of.cluster]
        last_ms = [max([each.at_ms, *each.noticed_ms]) + UNCERTAIN_MS for each in moves]
        return {each.cluster for each, ms in zip(moves, last_ms, strict=True) if each.at_ms <= said.true_ms <= ms}

    def _is_mistaken(self, said: SimRecord) -> bool:
        """Return whether a rewind passes for ours, was dated by a clock that was set, or no poll could notice it."""
        is_polled, noticed = said.where.cluster in self._world.polled, self._world.noticed.get(said.where, -1)
        is_missed = is_polled and noticed < said.log_offset
        return is_missed or said.is_taken_for_ours or (said.error_ms or 0) > UNCERTAIN_MS
