"""Mirrors: each copies what is produced at one cluster to another, in order but for the faults of its world."""

from __future__ import annotations

from dataclasses import dataclass, field

from offset_sync.model.values import TopicPartition
from simulation.logs import Headers, Record
from simulation.world import GRACE_MS, World

ORIGIN_HEADERS = {alias: f"IDC-{alias}".encode() for alias in "XYZ"}


def headers_of(origin: str, offset: int) -> Headers:
    """Return what the mirror stamps on a copy."""
    return ORIGIN_HEADERS[origin], b"%d" % offset


@dataclass
class Mirror:
    """Copies *place* from *origin* to *copy*: *next* is the next offset to copy, *held* what it will bring too late."""

    world: World
    origin: str
    copy: str
    place: TopicPartition
    next: int = 0
    life: int = 0
    held: list[tuple[int, Record]] = field(default_factory=list)  # each with the time by which it has to be there
    dropped: int = 0

    def native(self, first: int, count: int) -> list[Record]:
        """Return the copies of up to *count* records that were produced at the origin, from its offset *first* on."""
        log, births = self.world.logs[self.origin, self.place], self.world.births[self.place]
        found: list[Record] = []
        self.reached = first
        for offset in range(max(first, log.start), log.end):
            if len(found) == count:
                break
            self.reached = offset + 1
            record = log.entries[offset]
            if record is None or births[record.number][:2] != (self.origin, offset):
                continue
            found.append(Record(record.number, headers_of(self.origin, offset)))
        return found

    def copy_some(self, count: int, fault: str, at: int) -> None:
        """Copy the next *count* records; *fault* happens to the one number *at* of them."""
        log = self.world.logs[self.origin, self.place]
        if log.life != self.life:  # recreated or cut: it goes on from what is there
            self.life, self.next = log.life, min(self.next, log.end) if log.end else 0
        if fault == "resend":
            self.next = max(0, self.next - at)
        records = [each for each in self.native(self.next, count) if not self.dropped >> each.number & 1]
        self.next = max(self.next, self.reached)
        if records and fault == "drop" and not self.is_at_copy(records[at % len(records)]):
            self.dropped |= 1 << records.pop(at % len(records)).number
        if records and fault == "late" and not self.is_at_copy(records[at % len(records)]):
            self.held.append((self.world.clock_ms[0] + GRACE_MS // 2, records.pop(at % len(records))))
        if records and fault == "reorder":
            records = records[at % len(records) :] + records[: at % len(records)]
        for record in records:
            self.world.append(self.copy, self.place, record)

    def is_at_copy(self, record: Record) -> bool:
        """Return whether the copy has had it: what was sent once cannot be dropped any more."""
        return bool(self.world.logs[self.copy, self.place].below[-1] >> record.number & 1)

    def bring_held(self, until_ms: int) -> None:
        """Bring what must not come later than *until_ms*."""
        due = [each for each in self.held if each[0] <= until_ms]
        if due:
            self.held = [each for each in self.held if each[0] > until_ms]
            for _, record in due:
                self.world.append(self.copy, self.place, record)

    def will_bring(self, number: int) -> bool:
        """Return whether the copy will have this record yet, as far as it does not."""
        cluster, offset, life = self.world.births[self.place][number]
        log = self.world.logs[self.origin, self.place]
        if cluster != self.origin or self.dropped >> number & 1:
            return False
        is_there = life == log.life and offset >= max(self.next, log.start)
        return is_there or any(record.number == number for _, record in self.held)
