"""What may happen next to many histories at once: a driver among clusters whose logs are read late.

Real are SyncState, plan_writes, decide, the writing and applying of ReconcilePass, and what a start does with the
writes that were noted. The model has its bounds:

- Logs have the same records at the same offsets, but may begin later. An answer is the offset, or the log start.
- So many records of a key are unread at most (``Shape.unread``). A new driver reads all logs to their ends at once.
- A driver taken over by a second one is one that dies: its last write may be noted, applied and not recorded.
- Polls, members, clocks that are wrong and coordinators that move are left to the simulation.

Marked OPEN is what lib does not withstand; the model leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.kafka.requests import Committed
from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.sync.offset_writer import decide
from search import truth
from search.driver import TOPIC, Driver
from search.rows import ABSENT, KEPT, NOW, SILENT, UNREAD, UNRECORDED, Layout, Row, Shape, States

ACKNOWLEDGED, LOST, APPLIED = "acknowledged", "lost", "applied, the answer lost"
QUIET_PASSES = 3


def _words(meanwhile: int | None) -> str:
    """Return what happens before the answer: nothing, or the log is read, or the group commits before it is."""
    commits = f"the group commits {meanwhile} there, " if meanwhile not in (None, ABSENT) else ""
    return "" if meanwhile is None else f"; before the answer {commits}the log is read"


class Event(NamedTuple):
    """*act* changes the states that are given; it says which were not ended by a bound of the model."""

    name: str
    act: Callable[[], Row]
    may: Callable[[], Row]
    is_silent: bool = False


class Histories:
    """Up to *most* states of *shape* that go on side by side; *found* has what was wrong, by state."""

    def __init__(self, shape: Shape, most: int = 4_096) -> None:
        self.shape, self.layout, self.most = shape, Layout(shape), most
        self.driver = Driver(self.layout, most, self)
        self.source = self.target = 0
        self._fate, self._meanwhile, self._is_cutover = ACKNOWLEDGED, None, False
        self.found: list[tuple[int, str]] = []
        self.events = self._events()

    def begin(self) -> States:
        return self.layout.first.copy()

    def after(self, states: States, event: Event) -> tuple[States, NDArray[np.intp], list[tuple[int, str]]]:
        """Return what becomes of *states* by *event*, from which of them, and what was wrong with which."""
        self.of = self.layout.views(states)
        rows = np.flatnonzero(event.may())
        states = states[rows].copy()
        self.of, self.found = self.layout.views(states), []
        if len(rows) == 0:
            return states, rows, []
        fits = event.act()
        found = [(int(rows[row]), text) for row, text in self.found]
        return self.layout.canonical(states[fits], is_silent=event.is_silent), rows[fits], found

    def _events(self) -> list[Event]:
        events = [
            Event("sync.home_silence passes", self._all, self._all, is_silent=True),
            Event("the driver dies, the next one starts", partial(self._restart, False), self._all),
            Event("the driver dies before its last writes are recorded", partial(self._restart, True), self._has_told),
        ]
        for c in range(self.shape.clusters):
            events += self._events_at(c)
            for target in range(self.shape.clusters):
                events += self._passes(c, target) if target != c else []
        return events

    def _events_at(self, c: int) -> list[Event]:
        events, every, some = list[Event](), partial(self._is_unread, c, 0), partial(self._is_unread, c, 1)
        for p, value in product(range(self.shape.partitions), range(self.shape.end + 1)):
            name = f"the group commits {value} at dc{c}" + (f", partition {p}" if self.shape.partitions > 1 else "")
            may, may_at_once = partial(self._has_room, c, p), partial(self._is_at_once, c, p)
            events.append(Event(name, partial(self._commit, c, p, value, False), may))
            events.append(Event(f"{name} at the same time", partial(self._commit, c, p, value, True), may_at_once))
        events.append(Event(f"the log of dc{c} is read", partial(self._read_log, c, self.shape.unread), every))
        events.append(Event(f"one record of the log of dc{c} is read", partial(self._read_log, c, 1), some))
        events.append(Event(f"the log of dc{c} is compacted", partial(self._compact, c), some))
        events.append(Event(f"cutover apply to dc{c}", partial(self._cutover, c), partial(self._may_move, c)))
        return events

    def _passes(self, source: int, target: int) -> list[Event]:
        chosen = [(LOST, None)] + [(fate, each) for fate in (APPLIED, ACKNOWLEDGED) for each in (None, ABSENT)]
        chosen += [(ACKNOWLEDGED, value) for value in range(self.shape.end + 1)]
        return [
            Event(
                f"dc{source} to dc{target}: {fate}{_words(each)}",
                partial(self._pass, source, target, fate, each),
                partial(self._has_room_at, target, 1 if each in (None, ABSENT) else 2),
            )
            for fate, each in chosen
        ]

    # What may happen.

    def _all(self) -> Row:
        return np.ones(len(self.of["moved_to"]), np.bool_)

    def _has_room(self, c: int, p: int) -> Row:
        found: Row = self.of["unread"][:, c, p, -1] == ABSENT
        return found

    def _has_room_at(self, c: int, records: int) -> Row:
        found: Row = (self.of["unread"][:, c, :, -records] == ABSENT).all(axis=1)
        return found

    def _latest(self) -> NDArray[np.int8]:
        """Return the time of the last thing that has a time, in each history."""
        names = ("t_held", "t_seen", "t_moved", "t_told")
        parts = [self.of[name].reshape(len(self.of["moved_to"]), -1).max(axis=1) for name in names]
        return np.maximum.reduce(parts)

    def _is_at_once(self, c: int, p: int) -> Row:
        """Return where another cluster's commit was the last thing that happened."""
        others = np.arange(self.shape.clusters) != c
        genuine = np.where(self.of["held_is_own"] == 0, self.of["t_held"], 0)[:, others].max(axis=(1, 2))
        mine = self.of["t_held"][:, c].max(axis=1)
        return self._has_room(c, p) & (genuine > SILENT) & (genuine == self._latest()) & (mine < genuine)

    def _is_unread(self, c: int, beyond: int) -> Row:
        found: Row = (self.of["unread"][:, c, :, beyond] != ABSENT).any(axis=1)
        return found

    def _has_told(self) -> Row:
        """Return where the last thing were writes."""
        of, latest = self.of, self._latest()
        is_last = of["t_told"] == latest[:, np.newaxis, np.newaxis, np.newaxis]
        found: Row = (latest > SILENT) & is_last.any(axis=(1, 2, 3)) & (latest != of["t_moved"])
        return found

    def _may_move(self, c: int) -> Row:
        """Return where ``cutover apply`` finds all logs read, and the home elsewhere.

        OPEN: not where a move has raised the group to the home's log start and it has not committed there. What it has
        not read below that is skipped where it moves next, and begins elsewhere.
        """
        home, _ = truth.homes(self.of)
        may = (self.of["unread"] == ABSENT).all(axis=(1, 2, 3)) & (home != ABSENT) & (home != c)
        for at, start in enumerate(self.shape.starts):
            is_raised = (self.of["held_is_own"][:, at] == 1) & (self.of["held"][:, at] <= start) & (start > 0)
            may &= ~((home == at) & is_raised.any(axis=1))
        return may

    # What happens.

    def _commit(self, c: int, p: int, value: int, is_at_once: bool) -> Row:
        truth.commit(self.of, (np.arange(len(self.of["moved_to"])), c, p), value, self._latest() if is_at_once else NOW)
        return self._all()

    def _read_log(self, c: int, most: int) -> Row:
        self.driver.load(self.of)
        self._read(c, most)
        return self._save()

    def _compact(self, c: int) -> Row:
        """Have a log keep only the last record of a key, where that is ours: of others it would hide a step back."""
        of = self.of
        count = (of["unread"][:, c] != ABSENT).sum(axis=2)
        is_ours = of["held_is_own"][:, c] == 1
        for row, partition in zip(*np.nonzero((count > 1) & is_ours), strict=True):
            for name, empty in UNREAD.items():
                values = of[name][row, c, partition]
                values[0], values[1:] = values[count[row, partition] - 1], empty
        return self._all()

    def _save(self) -> Row:
        return self.driver.save(self.of)

    def _read(self, c: int, most: int = 0) -> None:
        """Have the driver read the log of a cluster."""
        most = most or self.shape.unread
        keys, records, (row, number) = self.driver.to_records(self.of, c, most)
        if len(row):
            recorded = self.driver.state.record(self.driver.aliases[c], keys, records)
            self._take_in(c, row, number, recorded.is_own, most)

    def _take_in(self, c: int, row: Any, number: Any, is_own: Row, most: int) -> None:
        partitions = self.shape.partitions
        for each in range(most):
            mine = number == each
            place = row[mine] // partitions, c, row[mine] % partitions
            wrong = truth.read(self.of, place, is_own[mine], each)
            for at, value in zip(place[0][wrong].tolist(), self.of["unread"][(*place, each)][wrong], strict=True):
                self.found.append((at, f"author of {value} at dc{c}"))
        self.driver.save(self.of)
        truth.drop_read(self.of, c, most)

    def _pass(self, source: int, target: int, fate: str, meanwhile: int | None) -> Row:
        self._fate, self._meanwhile, self._is_cutover = fate, meanwhile, False
        self.driver.load(self.of)
        self.driver.reconcile(source, target, len(self.of["moved_to"]))
        return self._save()

    def write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        """Commit at the target, as the writer does; the answers come or not."""
        of, target, places = self.of, self.target, list[tuple[int, int]]()
        outcomes, values = list[WriteOutcome](), list[int]()
        before = of["ours"].copy()
        if not self._is_cutover:
            self._send(writes)
        for write in writes:
            row, partition = int(write.group_id[1:]), write.partition
            held = int(of["held"][row, target, partition])
            outcome = decide(write, Committed(held, "") if held >= 0 else None)
            is_in_doubt = outcome is None and self._fate != ACKNOWLEDGED
            if outcome is None:
                places.append((row, partition))
                values.append(write.offset)
            said = outcome or (Outcome.FAILED if is_in_doubt else Outcome.COMMITTED)
            previous = held if held >= 0 else None
            outcomes.append(WriteOutcome(write.group_id, TOPIC, partition, said, previous, None, is_in_doubt))
        if places:
            row, partition = (np.array(each) for each in zip(*places, strict=True))
            self._apply((row, target, partition), np.array(values, np.int8))
        if self._meanwhile is not None:
            self._go_on_meanwhile(places)
        for write, each in zip(writes, outcomes, strict=True):
            if each.outcome is not Outcome.COMMITTED and not each.is_in_doubt:  # it is over
                place = int(write.group_id[1:]), target, write.partition
                of["ours"][place] &= before[place] | ~(1 << write.offset)
        return outcomes

    def _send(self, writes: Sequence[OffsetWrite]) -> None:
        place = np.array([int(each.group_id[1:]) for each in writes]), self.target, [each.partition for each in writes]
        truth.send(self.of, place, np.array([each.offset for each in writes]))

    def _go_on_meanwhile(self, written: Sequence[tuple[int, int]]) -> None:
        """Read the target's log before the answers come."""
        if self._meanwhile != ABSENT and written:
            row, partition = (np.array(each) for each in zip(*written, strict=True))
            truth.commit(self.of, (row, self.target, partition), self._meanwhile, NOW)
        self._read(self.target)

    def _apply(self, place: tuple[Any, int, Any], value: NDArray[np.int8]) -> None:
        of, target = self.of, self.target
        if not self._is_cutover:
            for text, wrong in truth.wrong_writes(self.shape, of, self.source, place, value).items():
                rows = np.flatnonzero(wrong)
                self.found += [(int(place[0][row]), f"{text}: {value[row]} at dc{target}") for row in rows]
        claim = of["seen_claim"][place[0], self.source, place[2]]
        if self._is_cutover:
            truth.send(of, place, value)
        if self._fate != LOST:
            truth.commit(of, place, value, NOW, claim)
        if self._fate == ACKNOWLEDGED and not self._is_cutover and self._meanwhile is None:
            of["seen"][place], of["seen_claim"][place], of["t_seen"][place] = value, claim, NOW
        spot = (*place, np.minimum((of["t_told"][place] > 0).sum(axis=-1), KEPT - 1))
        of["told"][spot], of["t_told"][spot] = value if self._fate == ACKNOWLEDGED else value | UNRECORDED, NOW

    def _cutover(self, c: int) -> Row:
        self._fate, self._meanwhile, self._is_cutover = ACKNOWLEDGED, None, True
        self.driver.load(self.of)
        home, _ = truth.homes(self.of)
        for source in range(self.shape.clusters):
            if source != c and (home == source).any():
                self.driver.reconcile(source, c, len(home), home == source)
        self.driver.move(np.arange(len(home)).tolist(), [c] * len(home))
        return self._save()

    def _restart(self, is_lost: bool) -> Row:
        of, driver = self.of, self.driver
        if is_lost:
            last = (of["t_told"] == self._latest()[:, np.newaxis, np.newaxis, np.newaxis]) & (of["t_told"] > 0)
            told = of["told"].max(axis=3, where=last, initial=ABSENT) & ~UNRECORDED
            self._forget_answers(last.any(axis=3)[:, np.newaxis] & (of["wanted"] == told[:, np.newaxis]))
            of["told"][last] |= UNRECORDED
        truth.note_death(of)
        driver.load(of)
        driver.restart(of)
        for c, _ in driver.clusters():
            self._read(c)
        return self._save()

    def _forget_answers(self, chosen: Row) -> None:
        for name, empty in (("answered", ABSENT), ("wanted", ABSENT), ("is_answered", 0), ("t_answered", 0)):
            self.of[name][chosen] = empty

    def quiet(self, states: States) -> dict[str, Row]:
        """Return what is wrong or waits, once all is read, the silence has passed, and a few passes were made."""
        states = states.copy()
        self.of, self.found = self.layout.views(states), []
        self.driver.load(self.of)
        pairs = [(a, b) for a in range(self.shape.clusters) for b in range(self.shape.clusters) if a != b]
        for c in range(self.shape.clusters):
            self._read(c)
        self._save()
        self.layout._rank(states, is_silent=True)
        self.driver.load(self.of)
        self._fate, self._meanwhile, self._is_cutover = ACKNOWLEDGED, None, False
        for _ in range(QUIET_PASSES):
            for source, target in pairs:
                self.driver.reconcile(source, target, len(states))
            for c in range(self.shape.clusters):
                self._read(c)
        self._save()
        found = truth.inexact(self.shape, self.of)
        for row, text in self.found:
            found.setdefault(f"in quiet, {text}", np.zeros(len(states), np.bool_))[row] = True
        return found
