"""Is the sync healthy? One rule for the exit code, and one summary of a report for terminal, page and JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config.duration import to_ms
from offset_sync.model.reasons import Reason
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
from offset_sync.status.report import GROUP, PAIR, Report, Row, newest_drift, rank_statuses, roll_up, with_drift


@dataclass(frozen=True)
class Problem:
    """One reason why the sync is not healthy, with names made visible; *status* is the word of its status, if any."""

    text: str
    status: str | None = None


@dataclass(frozen=True)
class Summary:
    """What terminal, page and JSON show of a *report*: pairs, groups and partitions are worst first."""

    report: Report
    problems: list[Problem]
    notes: list[str]
    pairs: list[Row]
    groups: list[Row]
    partitions: pa.Table

    @property
    def verdict(self) -> str:
        """The verdict for people."""
        return "✖ Not healthy" if self.problems else "✔ Healthy"

    @property
    def lines(self) -> list[str]:
        """The problems and then the notes, one line each."""
        return [*(problem.text for problem in self.problems), *self.notes]


def summarize(report: Report, stalled_after: timedelta = STALLED_AFTER) -> Summary:
    """Return the summary of *report*."""
    status, drift = report.status, report.drift
    pairs, groups = (with_drift(roll_up(status, by), drift) for by in (PAIR, GROUP))
    notes = [*find_notes(status, stalled_after), *report.notes]
    return Summary(report, find_problems(status, drift, stalled_after), notes, pairs, groups, rank_statuses(status))


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
        return [Problem(Reason.NOTHING_TO_REPORT())]
    rows = rank_statuses(status)
    return [*_row_problems(rows, stalled_after), *_drift_problems(newest_drift(drift), _in_sync(rows))]


def find_notes(status: pa.Table, stalled_after: timedelta = STALLED_AFTER) -> list[str]:
    """Return notes for a move that are no problem of the sync."""
    rows = rank_statuses(status)
    is_young = (status_codes(rows) == Status.BEHIND) & (troubles(rows, stalled_after) == Trouble.NONE)
    behind, notes = rows.filter(pa.array(is_young)), list[str]()
    if behind.num_rows:
        notes.append(Reason.YOUNG(_to_text(stalled_after), _of_rows(behind), _reasons(behind)))
    fresh = rows.filter(pc.is_valid(rows["uncommitted"])).group_by([*PAIR, "group_id", "topic", "uncommitted"])
    found = fresh.aggregate([]).sort_by([("group_id", "ascending"), ("topic", "ascending")]).to_pylist()
    if found:
        named = (f"{visible(row['group_id'])}: {visible(row['topic'])} {row['uncommitted']}" for row in found)
        notes.append(Reason.UNCOMMITTED(len(found), _listed(named)))
    return notes


def _row_problems(rows: pa.Table, stalled_after: timedelta) -> Iterator[Problem]:
    codes = troubles(rows, stalled_after)
    limits = {"stalled": _to_text(stalled_after), "late": _to_text(MIRROR_LATE_AFTER)}
    for trouble in list(Trouble)[:-1]:
        found = rows.filter(pa.array(codes == trouble))
        if found.num_rows:
            counts = {name: pc.sum(found[name]).as_py() for name in ("skipped", "not_mirrored")}
            text = Reason[trouble.name](of=_of_rows(found), why=_reasons(found), **limits, **counts)
            status = Status.__members__.get(trouble.name)
            yield Problem(text, status.word if status is not None else None)


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
            yield Problem(Reason.PAIR_DRIFTS(pair, "?" if by is None else format(by, ",")))
    groups = sorted({row["group_id"] for row in moving if row["group_id"] is not None})
    if groups:
        yield Problem(Reason.GROUPS_DRIFT(len(groups), _listed(map(visible, groups))))


def _of_rows(rows: pa.Table) -> str:
    groups = rows.group_by(list(GROUP)).aggregate([]).num_rows
    return Reason.OF_ROWS(rows.num_rows, groups)


def _reasons(rows: pa.Table) -> str:
    counts = pc.value_counts(rows["reason"].drop_null()).to_pylist()
    listed = sorted(((each["counts"], each["values"]) for each in counts), key=lambda each: (-each[0], each[1]))
    return f" ({_listed(visible(reason) for _, reason in listed)})" if listed else ""


def _listed(texts: Iterable[str], most: int = 3) -> str:
    found = list(texts)
    return ", ".join(found[:most] + (["…"] if len(found) > most else []))


def _to_text(limit: timedelta) -> str:
    return to_duration(to_ms(limit))
