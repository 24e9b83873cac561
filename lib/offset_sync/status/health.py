"""Is the sync healthy? One rule for the exit code, the terminal, the page and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config.duration import to_ms
from offset_sync.model.text import to_duration, visible
from offset_sync.model.values import Status
from offset_sync.status.assessment import (
    MIRROR_LATE_AFTER,
    STALLED_AFTER,
    Trouble,
    is_well,
    status_codes,
    troubles,
)
from offset_sync.status.report import GROUP, PAIR, newest_drift, rank_statuses


@dataclass(frozen=True)
class Problem:
    """One reason why the sync is not healthy, with names made visible; *status* is its status, if any."""

    text: str
    status: Status | None = None

    @property
    def word(self) -> str | None:
        """The word of its status."""
        return self.status.word if self.status is not None else None


def find_problems(status: pa.Table, drift: pa.Table, stalled_after: timedelta = STALLED_AFTER) -> list[Problem]:
    """Return the reasons why the sync is not healthy, worst first; the exit code of report_status is 0 without any.

    The sync is healthy if all of these hold:

    - no partition has a :class:`Trouble`: none is Stalled or Withheld, none is Behind for longer than *stalled_after*,
      none skips a record, and no unread record has waited for the mirror for longer than MIRROR_LATE_AFTER (a working
      mirror always has younger ones in flight, which would be lost only if the source never came back);
    - every pair's and every group's drift in the newest report has converged, unless all of it is in sync;
    - the report has rows: an empty report is no proof of health.

    TargetActive is healthy: the group runs there. Errs to unhealthy: a required null counts as too much.
    """
    if status.num_rows == 0:
        return [Problem("Nothing to report: no included group has committed an included topic")]
    rows = rank_statuses(status)
    return [*_row_problems(rows, stalled_after), *_drift_problems(newest_drift(drift), _in_sync(rows))]


def find_notes(status: pa.Table, stalled_after: timedelta = STALLED_AFTER) -> list[str]:
    """Return notes for a move that are no problem of the sync."""
    rows = rank_statuses(status)
    is_young = (status_codes(rows) == Status.BEHIND) & (troubles(rows, stalled_after) == Trouble.NONE)
    behind, notes = rows.filter(pa.array(is_young)), list[str]()
    if behind.num_rows:
        limit = _to_text(stalled_after)
        notes.append(f"{_counts(behind)} {Status.BEHIND.word} for less than {limit}{_reasons(behind)}")
    fresh = rows.filter(pc.is_valid(rows["uncommitted"])).group_by([*PAIR, "group_id", "topic", "uncommitted"])
    found = fresh.aggregate([]).sort_by([("group_id", "ascending"), ("topic", "ascending")]).to_pylist()
    if found:
        named = (f"{visible(row['group_id'])}: {visible(row['topic'])} {row['uncommitted']}" for row in found)
        text = f"{_count(len(found), 'topic')} with partitions never committed by their group ({_listed(named)})"
        notes.append(f"{text}: cutover apply commits the target's start there")
    return notes


def _row_problems(rows: pa.Table, stalled_after: timedelta) -> Iterator[Problem]:
    codes = troubles(rows, stalled_after)
    for trouble in list(Trouble)[:-1]:
        found = rows.filter(pa.array(codes == trouble))
        if found.num_rows:
            yield _problem(trouble, found, stalled_after)


def _problem(trouble: Trouble, found: pa.Table, stalled_after: timedelta) -> Problem:
    if trouble is Trouble.SKIPPING:
        records = _count(pc.sum(found["skipped"]).as_py(), "unread record")
        return Problem(f"{_counts(found)} {records} at the target would be skipped")
    if trouble is Trouble.WAITING:
        records = _count(pc.sum(found["not_mirrored"]).as_py(), "unread record")
        text = f"{_counts(found)} {records} waiting for the mirror for more than {_to_text(MIRROR_LATE_AFTER)}"
        return Problem(text, Status.MIRRORING)
    status = Status[trouble.name]
    late = f" for more than {_to_text(stalled_after)}" if trouble is Trouble.BEHIND else ""
    return Problem(f"{_counts(found)} {status.word}{late}{_reasons(found)}", status)


def _in_sync(rows: pa.Table) -> set[tuple[str, ...]]:
    """Return the pairs, and the groups of pairs, that are wholly in sync: their drift need not have converged."""
    known, not_well = set[tuple[str, ...]](), set[tuple[str, ...]]()
    groups = zip(*(rows[name].to_pylist() for name in GROUP), strict=True)
    for group, well in zip(groups, is_well(rows).tolist(), strict=True):
        for series in (group, group[:2]):
            (known if well else not_well).add(series)
    return known - not_well


def _drift_problems(newest: pa.Table, in_sync: Collection[tuple[str, ...]]) -> Iterator[Problem]:
    rows = newest.filter(pc.invert(pc.fill_null(newest["is_converged"], False))).to_pylist()
    series = [tuple(row[name] for name in GROUP if row[name] is not None) for row in rows]
    moving = [row for row, each in zip(rows, series, strict=True) if each not in in_sync]
    for row in moving:
        if row["group_id"] is None:
            pair = f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"
            by = row["windowed_change"]
            yield Problem(f"Offsets of {pair} drift apart: by {'?' if by is None else format(by, ',')} in the window")
    groups = sorted({row["group_id"] for row in moving if row["group_id"] is not None})
    if groups:
        yield Problem(f"Offsets of {_count(len(groups), 'group')} drift apart: {_listed(map(visible, groups))}")


def _counts(rows: pa.Table) -> str:
    groups = rows.group_by(list(GROUP)).aggregate([]).num_rows
    return f"{_count(rows.num_rows, 'partition')} of {_count(groups, 'group')}:"


def _reasons(rows: pa.Table) -> str:
    counts = pc.value_counts(rows["reason"].drop_null()).to_pylist()
    listed = sorted(((each["counts"], each["values"]) for each in counts), key=lambda each: (-each[0], each[1]))
    return f" ({_listed(visible(reason) for _, reason in listed)})" if listed else ""


def _listed(texts: Iterable[str], most: int = 3) -> str:
    found = list(texts)
    return ", ".join(found[:most] + (["…"] if len(found) > most else []))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _to_text(limit: timedelta) -> str:
    return to_duration(to_ms(limit))
