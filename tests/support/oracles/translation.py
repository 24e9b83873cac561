"""The translation by brute force: plain loops over records, slow, and readable next to its definition.

Nothing here is shared with ``offset_sync.translate``, so that a mistake there is not repeated here. X is the source
cluster and Y the target of one topic-partition:

    X:  0 a0   1 b0   2 a1   3 b1            f of Y's records:  1   3   0   2
    Y:  0 b0   1 b1   2 a0   3 a1            F, running max:    1   3   3   3
                                             t(2) = 1: b1 is the first record that is not known to be read
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from offset_sync.model.values import State

MALFORMED = ""
"""Origin of a record whose headers cannot be read: it has no identity and is unread by everyone."""

UNREAD: float = math.inf
"""f of a record that no commit is known to cover."""

NO_RECORD: float = -1
"""f of an offset without a record (transaction marker, compaction hole)."""


@dataclass(frozen=True)
class LogRecord:
    """A record as the index sees it; (origin, origin_offset) is its identity."""

    offset: int
    origin: str
    origin_offset: int
    timestamp_ms: int = 0
    indexed_at_ms: int = 0

    @property
    def is_malformed(self) -> bool:
        return self.origin == MALFORMED


@dataclass(frozen=True)
class Log:
    """One partition of one cluster: *records* in offset order, of which those below *frontier* are indexed.

    *log_start* is what retention has left; records below it that were indexed in time are still in *records*.
    """

    cluster: str
    records: tuple[LogRecord, ...]
    log_start: int
    log_end: int
    frontier: int

    @property
    def indexed(self) -> tuple[LogRecord, ...]:
        return tuple(record for record in self.records if record.offset < self.frontier)

    @property
    def malformed(self) -> frozenset[int]:
        return frozenset(record.offset for record in self.records if record.is_malformed)


@dataclass(frozen=True)
class Case:
    """A question: commits of *source_cluster* (*source* None: it has no index) are wanted on *target*'s cluster.

    *lost* are identities that a truncation has taken from the source's log; a ``MALFORMED`` one may be any.
    """

    source_cluster: str
    source: Log | None
    target: Log
    now_ms: int = 0
    hole_grace_ms: int = 0
    lost: tuple[tuple[str, int], ...] = ()

    @property
    def source_records(self) -> tuple[LogRecord, ...]:
        return () if self.source is None else self.source.indexed

    @property
    def source_frontier(self) -> int:
        return 0 if self.source is None else self.source.frontier


@dataclass(frozen=True)
class Answer:
    """All that is promised about one committed offset; the names are those of ``translate.exact.Answers``."""

    offset: int
    clamped_offset: int
    state: State
    duplicates: int
    duplicates_at_most: int
    lost: int


def pos(case: Case, origin: str, origin_offset: int) -> float:
    """Return the lowest offset at which this identity is known to be in X's log; UNREAD if it is not."""
    for record in case.source_records:
        if record.origin == origin and record.origin_offset == origin_offset:
            return record.offset
    return UNREAD


def passed_by(case: Case, record: LogRecord) -> LogRecord | None:
    """Return X's record of lowest offset that is of the same origin and later than *record*; None without one."""
    for other in case.source_records:
        if other.origin == record.origin and other.origin_offset > record.origin_offset:
            return other
    return None


def f(case: Case, record: LogRecord) -> float:
    """Return the last offset of X that must be read before *record* of Y is known to be read."""
    if record.is_malformed:
        return UNREAD
    if record.origin == case.source_cluster:
        return record.origin_offset
    position = pos(case, record.origin, record.origin_offset)
    if position != UNREAD or (record.origin, record.origin_offset) in case.lost:
        return position
    evidence = passed_by(case, record)
    if evidence is None:
        return UNREAD
    if evidence.indexed_at_ms > case.now_ms - case.hole_grace_ms:
        return UNREAD
    # A record there without an identity may be this one.
    is_any = any(origin == MALFORMED for origin, _ in case.lost)
    return UNREAD if is_any else max([evidence.offset, *(r.offset for r in case.source_records if r.is_malformed)])


def f_by_offset(case: Case) -> list[float]:
    result = [NO_RECORD] * case.target.frontier
    for record in case.target.indexed:
        result[record.offset] = f(case, record)
    return result


def first_unread(required: Sequence[float], committed: int) -> int:
    """Return t(c): the first y with f(y) >= c, and so with F(y) >= c, else Y's frontier, which is ``len(required)``."""
    for offset, last_read in enumerate(required):
        if last_read >= committed:
            return offset
    return len(required)


def might_stand_beyond(case: Case, record: LogRecord) -> bool:
    """True where X may hold *record* behind its frontier: not its own, not seen there, and not an old hole either."""
    return not record.is_malformed and record.origin != case.source_cluster and f(case, record) == UNREAD


def answers(case: Case, commits: Iterable[int]) -> list[Answer]:
    """Answer every committed offset of *commits*, in their order."""
    required = f_by_offset(case)
    unknown = [record.offset for record in case.target.indexed if might_stand_beyond(case, record)]
    return [_answer(case, committed, required, unknown) for committed in commits]


def readable_from(case: Case, committed: int) -> int:
    """Return from where on the group can still read at X, if retention has passed its commit.

    The commit itself where something came late or again, or without an identity: it may be above the log start too.
    """
    records = case.source_records
    if case.source is None or comes_late_or_again(records, case.lost) or any(each.is_malformed for each in records):
        return committed
    return max(committed, case.source.log_start)


def below_the_cut(case: Case, cut_at: int) -> Case:
    """Return *case* as it is known after the target's log was cut: from there on are other records now."""
    kept = tuple(record for record in case.target.records if record.offset < cut_at)
    frontier = min(cut_at, case.target.frontier)
    return replace(case, target=replace(case.target, records=kept, frontier=frontier))


def comes_late_or_again(records: Iterable[LogRecord], lost: Iterable[tuple[str, int]] = ()) -> bool:
    """Return whether a record is not above all those of its origin before it, and all *lost* ones."""
    highest: dict[str, int] = {}
    for origin, number in lost:
        highest[origin] = max(number, highest.get(origin, -1))
    for record in records:
        if not record.is_malformed:
            if record.origin_offset <= highest.get(record.origin, -1):
                return True
            highest[record.origin] = record.origin_offset
    return False


def may_be_read(case: Case, committed: int, f_of: list[float], unknown: list[int], first: int) -> int:
    """Return how many records from *first* on the group may have read where X could not be read, or not identified.

    No more than it has read such records there, if Y has each record once.
    """
    unreadable = sum(1 for r in case.source_records if r.is_malformed and r.offset < committed) + len(case.lost)
    places = max(0, committed - case.source_frontier) + unreadable
    unread = [r.offset for r in case.target.indexed if not r.is_malformed and f_of[r.offset] >= committed]
    count = sum(1 for y in (unread if unreadable else unknown) if y >= first)
    return count if places and comes_late_or_again(case.target.indexed) else min(count, places)


def _answer(case: Case, committed: int, f_of: list[float], unknown: list[int]) -> Answer:
    offset = first_unread(f_of, committed)
    clamped = max(offset, case.target.log_start)
    remaining = [record for record in case.target.indexed if record.offset >= clamped]
    expired = [record for record in case.target.indexed if offset <= record.offset < case.target.log_start]
    beyond = max(0, committed - case.source_frontier)

    duplicates = sum(1 for record in remaining if f_of[record.offset] < committed)
    malformed = sum(1 for record in remaining if record.is_malformed)
    return Answer(
        offset=offset,
        clamped_offset=clamped,
        state=_state(case, beyond, offset, any(y >= offset for y in unknown)),
        duplicates=duplicates,
        duplicates_at_most=duplicates + may_be_read(case, committed, f_of, unknown, clamped) + malformed,
        lost=sum(1 for record in expired if f_of[record.offset] >= readable_from(case, committed)),
    )


def _state(case: Case, beyond: int, offset: int, has_unknown: bool) -> State:
    if beyond > 0 and has_unknown:
        return State.INDEX_BEHIND
    return State.AT_FRONTIER if offset == case.target.frontier else State.EXACT
