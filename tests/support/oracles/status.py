"""What moving a group now would repeat and lose, by plain loops over records and the definitions; slow and readable.

Nothing here is shared with what it is compared with but the words of ``oracle``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from oracles.translation import Answer, Case, Log, LogRecord, answers, f, readable_from

Identity = tuple[str, int]


@dataclass(frozen=True)
class Cost:
    """The columns of sync_status that are numbers, of one group; and whether it is in sync."""

    duplicates: int
    duplicates_at_most: int
    lost: int
    not_mirrored: int
    mirror_lag: int
    is_in_sync: bool


def cost(case: Case, committed: int, position: int) -> Cost:
    """Return what a group that *committed* at the source costs where it goes on at the target from *position*."""
    assert case.source is not None
    answer = _answers(case)[committed]
    late = {origin: pending(case, origin) for origin in _origins(case)}
    not_mirrored = _not_mirrored(case, committed)
    watched = _watched(case)
    repeated = sum(f(watched, record) < committed for record in _indexed_from(case.target, position))
    at_most = max(0, repeated + answer.duplicates_at_most - answer.duplicates)
    deleted = _deleted(case, committed, late)
    lost = answer.lost + _skipped(case, committed, position, answer) + not_mirrored + deleted
    return Cost(
        duplicates=repeated,
        duplicates_at_most=at_most,
        lost=lost,
        not_mirrored=not_mirrored,
        mirror_lag=sum(len(records) for origin, records in late.items() if origin in _mirrored(case)),
        is_in_sync=lost == at_most == 0 and _is_in_sync(case, committed, position, late),
    )


@lru_cache(maxsize=4)
def _answers(case: Case) -> list[Answer]:
    assert case.source is not None
    return answers(_watched(case), range(case.source.log_end + 1))


def _watched(case: Case) -> Case:
    """Return the case at the last moment up to which all that had come to the source was indexed."""
    source = case.source
    if source is None or source.frontier >= source.log_end:
        return case
    return replace(case, now_ms=min(case.now_ms, max([each.indexed_at_ms for each in source.indexed], default=0)))


def _is_in_sync(case: Case, committed: int, position: int, late: dict[str, list[LogRecord]]) -> bool:
    """All is known, nothing is on its way, and both sides go on with the same record or none."""
    source, target = case.source, case.target
    assert source is not None
    if source.frontier < source.log_end or target.frontier < target.log_end:
        return False
    if not target.log_start <= position <= target.log_end:
        return False
    if any(records for origin, records in late.items() if origin in _mirrored(case)):
        return False
    if any(record.offset >= readable_from(case, committed) for records in late.values() for record in records):
        return False
    left, left_there = _indexed_from(source, committed), _indexed_from(target, position)
    if not left or not left_there:
        return not left and not left_there
    return identity(left[0]) is not None and identity(left[0]) == identity(left_there[0])


def _mirrored(case: Case) -> set[str]:
    """Return the origins whose records a mirror is known to copy."""
    return {record.origin for record in case.target.indexed} | {case.source_cluster}


def identity(record: LogRecord) -> Identity | None:
    """Return which record it is; None where its headers cannot be read."""
    return None if record.is_malformed else (record.origin, record.origin_offset)


def _indexed_from(log: Log, offset: int) -> list[LogRecord]:
    """What a consumer that starts at *offset* reads, as far as it is indexed."""
    return [record for record in log.indexed if record.offset >= max(offset, log.log_start)]


def _skipped(case: Case, committed: int, position: int, answer: Answer) -> int:
    """Count what is unread below *position*, with all that no index knows there."""
    target = case.target
    watched = _watched(case)
    known = [r for r in target.indexed if target.log_start <= r.offset < position and f(watched, r) >= committed]
    beyond = range(max(target.frontier, answer.clamped_offset), min(position, target.log_end))
    return len(known) + len(beyond)


def _origins(case: Case) -> set[str]:
    """Return who produced what the target would have to get from elsewhere."""
    names = {record.origin for record in case.source_records if not record.is_malformed}
    return (names | {case.source_cluster}) - {case.target.cluster}


def _firsts(records: Iterable[LogRecord], origin: str) -> list[LogRecord]:
    found: dict[int, LogRecord] = {}
    for record in records:
        if record.origin == origin:
            found.setdefault(record.origin_offset, record)
    return list(found.values())


def missing(case: Case, origin: str) -> list[LogRecord]:
    there = {identity(record) for record in case.target.indexed}
    return [record for record in _firsts(case.source_records, origin) if identity(record) not in there]


def pending(case: Case, origin: str) -> list[LogRecord]:
    """Return what may yet come: nothing later of its origin is there, or only since a moment ago."""
    return [record for record in missing(case, origin) if not _is_overtaken(case, record)]


def _is_overtaken(case: Case, record: LogRecord) -> bool:
    for other in case.target.indexed:  # the first one in the log shows it
        if other.origin == record.origin and other.origin_offset > record.origin_offset:
            return other.indexed_at_ms <= case.now_ms - case.hole_grace_ms
    return False


def _not_mirrored(case: Case, committed: int) -> int:
    """Count the source's own unread records that are not at the target; unreadable and unindexed ones too."""
    assert case.source is not None
    readable, left = readable_from(case, committed), max(committed, case.source.log_start)
    own = [record for record in missing(case, case.source_cluster) if record.offset >= readable]
    malformed = [r for r in case.source_records if r.is_malformed and r.offset >= readable]
    return len(own) + len(malformed) + len(range(max(left, case.source_frontier), case.source.log_end))


def _deleted(case: Case, committed: int, late: dict[str, list[LogRecord]]) -> int:
    """Count the unread records of others that will not come: dropped on the way, or the target's own and deleted."""
    others = _origins(case) - {case.source_cluster}
    skipped = [r for origin in others for r in missing(case, origin) if r not in late[origin]]
    own = [r for r in missing(case, case.target.cluster) if r.origin_offset < case.target.frontier]
    return sum(record.offset >= readable_from(case, committed) for record in skipped + own)
