"""Are the author and the time that the sync makes of each record of commits right?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from simulation.commit_records import SimRecord
from simulation.knowledge import Span
from simulation.oracle import Violation
from simulation.world import Position

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver

Key = tuple[str, str, int]
_COUNTS_MS = 600_000
"""So long a measurement of a clock counts at least."""


def genuine(
    batch: Any, is_own: list[bool], told: Mapping[int, int] = MappingProxyType({})
) -> Iterator[tuple[Key, Span]]:
    """Yield key and times of each commit that counts as a group's own; not of those that were *told* by a table."""
    records, names = batch.commit_records, ("is_position", "made_ms", "committed_at_ms", "log_partition", "log_offset")
    columns = (getattr(records, name).tolist() for name in names)
    for key, is_ours, is_position, made_ms, at_ms, number, offset in zip(batch.keys, is_own, *columns, strict=True):
        if is_position and not is_ours and offset >= told.get(number, 0):
            yield key, (at_ms if batch.is_polled else made_ms, made_ms)


def begin_again(batch: Any, reach: dict[int, int]) -> None:
    """Forget the *reach* of partitions that *batch* has found in another life: offsets of before are given again."""
    for place in batch.looked.begun:
        reach.pop(place.partition, None)


class Judge:
    """Judges the micro-batches of one cluster."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self._driver, self._alias = driver, alias
        self._ended_ms: tuple[int | None, int | None] = None, None
        self._reads_on = False  # the last micro-batch read all that there was when it was planned
        self._dated = -1, False  # the last one that was looked at, and whether the one before it has read on
        self.reach: dict[int, int] = {}
        self._measured: tuple[int, int] | None = None  # when its clock was measured last, and how well

    def note_start(self) -> None:
        """Note that the query is started: what it reads first may be as old as the log."""
        self._reads_on, self._dated = False, (self._dated[0], False)

    def note_ended(self) -> None:
        """Note that a micro-batch has ended."""
        self._ended_ms = self._ended_ms[1], self._driver.now_ms()

    def note_read(self, batch: Any) -> None:
        """Note how far another driver has read."""
        begin_again(batch, self.reach)
        records = batch.commit_records
        for number, offset in zip(records.log_partition.tolist(), records.log_offset.tolist(), strict=True):
            self.reach[number] = max(offset + 1, self.reach.get(number, 0))

    def look(self, batch: Any, is_own: list[bool]) -> None:
        """Raise Violation where a record was made by another client, or at another time."""
        plan, now_ms = self._driver.persisted.planned(self._alias), self._driver.now_ms()
        if plan.number != self._dated[0]:  # one that is tried again is as young as it was
            self._dated, self._reads_on = (plan.number, self._reads_on), plan.is_whole
        since_ms = self._ended_ms[0] if self._dated[1] and not batch.looked.again else None
        begin_again(batch, self.reach)
        records = batch.commit_records
        places = list(zip(batch.records, records.log_partition.tolist(), records.log_offset.tolist(), strict=True))
        # What counts as ours first: of two partitions, the later record may come before it.
        for row in sorted(range(len(places)), key=lambda row: not is_own[row]):
            record, number, offset = places[row]
            self.reach[number] = max(offset + 1, self.reach.get(number, 0))
            error_ms = self._look_at_time(record, int(records.made_ms[row]), since_ms, now_ms)
            errors, at = self._driver.world.made_error, (self._alias, number, offset)
            errors[at] = max(error_ms, errors.get(at, 0))  # two drivers may have read it
            noticed, where = self._driver.world.polls.noticed, Position(self._alias, record.group_id, record.place)
            noticed[where] = max(offset, noticed.get(where, 0))
            if record.offset is not None and record.offset >= 0:
                self._look_at_author(record, is_own=is_own[row])
                if is_own[row] and not record.is_ours:
                    self._driver.world.taken_for_ours.add((self._alias, number, offset))
                    if "second" in self._driver.world.shape.faults:
                        self._driver.world.disputed.add((record.group_id, record.place.topic))

    def _look_at_time(self, record: SimRecord, made_ms: int, since_ms: int | None, now_ms: int) -> int:
        world, true_ms = self._driver.world, record.true_ms + self._driver.skew_ms
        cluster, error_ms = world.clusters[self._alias], abs(made_ms - true_ms)
        if made_ms > now_ms or (since_ms is not None and not since_ms <= made_ms):
            raise Violation("made", f"{record} at {self._alias}: {made_ms} is outside {since_ms} to {now_ms}")
        most_ms = cluster.widest_ms + 2 * cluster.most_skew_ms + abs(self._driver.skew_ms)
        if since_ms is not None:
            cluster.widest_ms = max(cluster.widest_ms, now_ms - since_ms)
            self._measured = now_ms, now_ms - since_ms
        elif self._measured is not None and not cluster.was_set and now_ms - self._measured[0] < _COUNTS_MS:
            most_ms = self._measured[1]
        if since_ms is None and error_ms > most_ms:
            raise Violation("made", f"{record} at {self._alias}: {made_ms} was {true_ms}")
        return error_ms

    def _look_at_author(self, record: SimRecord, *, is_own: bool) -> None:
        world, driver = self._driver.world, self._driver
        where = Position(self._alias, record.group_id, record.place)
        swapped = world.swapped.setdefault(where, Counter())
        if is_own and record.is_ours and record.writer is not driver.process:
            swapped[record.offset] += 0  # of a driver that died before it said so: it may be taken for a later one
        if is_own == record.is_ours:
            return
        if is_own and driver.is_ready.is_set():
            swapped[record.offset] += 1
            if swapped[record.offset] > world.tried[where, record.offset]:
                raise Violation("author", f"{where}: the group's {record.offset} counts as ours")
        elif not is_own and record.writer is driver.process and not swapped:
            # One that is as a later write of ours ends those before it.
            raise Violation("author", f"{where}: our {record.offset} counts as the group's, and no driver has died")
