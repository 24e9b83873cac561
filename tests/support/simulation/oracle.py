"""The offsets allowed at a target, by the contents of the logs alone, without the code under test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from offset_sync.model.values import TopicPartition
from simulation.knowledge import Home
from simulation.logs import Log, Position
from simulation.mirrors import Mirror
from simulation.world import World

if TYPE_CHECKING:
    from simulation.consumers import Twin
    from simulation.sync_driver import SyncDriver

NEVER = 1 << 60
Route = tuple[str, str, TopicPartition]


class Violation(AssertionError):
    """The promise is broken; *kind* says in which way."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Known(NamedTuple):
    """What a driver knows of a place: where its group may be at home, and which readers are at work there."""

    homes: set[Home]
    active: list[Twin]


class Oracle:
    """Judges *world*, whose *mirrors* say what will still come, and whose *twins* read without membership."""

    def __init__(self, world: World, mirrors: Mapping[Route, Mirror], twins: Sequence[Twin]) -> None:
        self.world, self.mirrors, self.twins = world, mirrors, twins
        self._active: dict[Position, list[Twin]] = {}
        world.on_write = self.check_written

    def check_touched(self) -> None:
        """Raise Violation where a position that has changed has unread records below it."""
        touched = self.world.touched
        while touched:
            self._check_position(touched.popitem()[0])

    def _check_position(self, where: Position) -> None:
        value = self.world.values.get(where)
        log = self.world.logs[where.of_log]
        # What was written to a log that was cut or recreated since is a matter of that log.
        if value is None or not value.is_ours or value.life != log.life:
            return
        read = self.world.read[where.of_group]
        if value.offset > log.end:
            raise Violation("beyond end", f"{where} is at {value.offset}, beyond the log's end {log.end}")
        unread = log.below[value.offset] & ~read
        if not unread:
            return
        others = [where._replace(cluster=alias) for alias in self.world.shape.clusters if alias != where.cluster]
        passed = {source: self.world.passed[source] for source in others if source in self.world.passed}
        for number in self._unread(log, value.offset, read):
            if not any(self._is_hole(source, claimed, number) for source, claimed in passed.items()):
                unread_record = self._words(where, number)
                raise Violation("ahead", f"{where} is at {value.offset}: {unread_record} is unread below it")
            self.world.read[where.of_group] |= 1 << number

    def _unread(self, log: Log, end: int, read: int) -> Iterator[int]:
        # Records before an index that began late are unknown. Records that the mirror has sent again are read there.
        again = set[int]()
        if "late_index" in self.world.shape.faults:
            again = {record.number for record in log.entries[end:] if record is not None}
        for offset in range(log.start, end):
            record = log.entries[offset]
            if record is not None and not read >> record.number & 1 and record.number not in again:
                yield record.number

    def _is_hole(self, source: Position, claimed: int, number: int) -> bool:
        """Return whether *source* has not got the record and will not get it, and the group has passed later ones."""
        births, log = self.world.births[source.place], self.world.logs[source.of_log]
        birth = births[number]
        if birth.cluster == source.cluster or number in log.known_at:
            return False
        if any(record is not None and record.number == number for record in log.entries[log.start :]):
            return False
        mirror = self.mirrors.get((birth.cluster, source.cluster, source.place))
        if mirror is not None and mirror.will_bring(number):
            return False
        later = [number for number, each in enumerate(births) if each.is_after(birth)]
        return any(claimed >> each & 1 for each in later)

    def _words(self, where: Position, number: int) -> str:
        birth = self.world.births[where.place][number]
        life = f" of life {birth.life}" if birth.life else ""
        return f"record {number} ({birth.cluster}{birth.offset}{life})"

    def check_answer(self, source: Position, claimed: int, target: str, wanted: int) -> None:
        """Raise Violation where *wanted* at *target* passes a record that a commit of *source* has not *claimed*."""
        log = self.world.logs[target, source.place]
        end = min(wanted, log.end)
        if source.of_group in self.world.troubled or not log.below[end] & ~claimed:
            return
        for number in self._unread(log, end, claimed):
            if not self._is_hole(source, claimed, number):
                unread = self._words(source, number)
                raise Violation("answer ahead", f"{source}: {wanted} at {target}, and {unread} is unread below it")

    def known(self, driver: SyncDriver, where: Position) -> Known:
        """Return what a driver knows when it plans to write."""
        homes = driver.knowledge.homes(where.group, where.place.topic, driver.now_ms())
        return Known(homes, [twin for twin in self.twins if self._is_active(driver, twin, where)])

    def note_plan(self, places: Mapping[Position, Sequence[Known]]) -> None:
        """Raise Violation where one of *places* may not be written to, by anything the driver knew in this pass."""
        for where, known in places.items():
            homes = {home for each in known for home in each.homes}
            is_refused = all(home.is_contested or home.cluster in (None, where.cluster) for home in homes)
            if is_refused and (where.group, where.place.topic) not in self.world.disputed:
                raise Violation("not its home", f"{where} is to be written to, and the homes are {homes}")
            self._active[where] = [twin for twin in known[0].active if all(twin in each.active for each in known)]

    def _is_active(self, driver: SyncDriver, twin: Twin, where: Position) -> bool:
        """Return whether a reader is there whose group is at that place, and the driver has read that it is."""
        if (twin.name, twin.at) != (where.group, where.cluster):
            return False
        silence_ms, skew_ms = self.world.shape.silence_ms, driver.now_ms() - self.world.clock_ms[0]
        moves = driver.knowledge.moved.get((twin.name, where.place.topic), [])
        over_ms = max((each.at_ms for each in moves if each.cluster != twin.at), default=0)
        for said in twin.last_commits(where.place.topic):
            if said.error_ms is None or said.is_taken_for_ours or not driver.has_read(said):
                continue
            since_ms = said.true_ms + skew_ms - said.error_ms
            if since_ms > driver.now_ms() - silence_ms and since_ms > over_ms:
                return True
        return False

    def check_written(self, where: Position, offset: int) -> None:
        """Raise Violation where the sync sets a reader at work past what it has not read; note what it overwrites."""
        log, value = self.world.logs[where.of_log], self.world.values.get(where)
        for twin in self._active.get(where, ()):
            unread = log.below[min(offset, log.end)] & ~twin.seen.get(where.place, 0)
            if unread and (value is None or value.offset < offset):
                raise Violation("reader moved", f"{where} is set to {offset}, and its reader there is at work")
        if value is not None and not value.is_ours and value.offset != offset:
            self.world.raced.add(where)

    def first_unread(self, where: Position) -> int:
        """Return the first offset whose record the group has not read anywhere."""
        log, read = self.world.logs[where.of_log], self.world.read[where.of_group]
        for offset in range(log.start, log.end):
            record = log.entries[offset]
            if record is not None and not read >> record.number & 1:
                return offset
        return log.end

    def exact(self, source: Position, committed: int, target: str) -> int:
        """Return the offset required at *target* after quiet: the first record that is not known to be read."""
        here = self.world.logs[source.of_log]
        log = self.world.logs[target, source.place]
        for offset, record in enumerate(log.entries):
            if record is None or not log.known >> offset & 1:
                continue
            if record.is_odd or self._needs(here, source, record.number) >= committed:
                return max(offset, log.start)
        return max(log.end, log.start)

    def stands_at(self, source: Position, number: int) -> int:
        """Return where the index has the record at the source, NEVER where it has not."""
        birth = self.world.births[source.place][number]
        known_at = self.world.logs[source.of_log].known_at
        return birth.offset if birth.cluster == source.cluster else known_at.get(number, NEVER)

    def _needs(self, here: Log, source: Position, number: int) -> int:
        """Return the offset of the record at the source, as far as it can be known."""
        if (at := self.stands_at(source, number)) < NEVER:
            return at
        births, birth = self.world.births[source.place], self.world.births[source.place][number]
        later = [at for other, at in here.known_at.items() if births[other].is_after(birth)]
        odd = [at for at, each in enumerate(here.entries) if each and each.is_odd and here.known >> at & 1]
        return max([min(later), *odd]) if later else NEVER
