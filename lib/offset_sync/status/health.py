"""Is the sync healthy? One rule for the exit code, the terminal, the page and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config.duration import to_ms
from offset_sync.model.text import visible
from offset_sync.model.values import Status
from offset_sync.status.format import to_duration
from offset_sync.status.rollup import GROUP, newest_drift, rank_statuses


@dataclass(frozen=True)
class Limits:
    """How long a delay may last before it counts as unhealthy."""

    behind: timedelta = timedelta(minutes=1)
    """How long a commit's translation may be missing at the target (``staleness_ms``)."""
    mirror: timedelta = timedelta(minutes=5)
    """How old a record may become that a group has not read and the target does not have yet."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Problem:
    """One reason why the sync is not healthy, with names made visible; *status* is the one it is about, if any."""

    text: str
    status: Status | None = None


def is_healthy(status: pa.Table, drift: pa.Table, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether all of these hold; the exit code of report_status is 0 only then.

    - no partition is Stalled or Withheld;
    - none is Behind for longer than *limits.behind*;
    - none skips a record: ``lost`` is no more than ``not_mirrored``;
    - no unread record has been waiting for the mirror for longer than *limits.mirror*: a younger one is what a mirror
      at work always has under way, and would be lost only if the source never came back;
    - every pair's and every group's drift in the newest report has converged;
    - there is something to report on: an empty report is no proof of health.

    TargetActive is healthy: the group runs there. Errs to unhealthy: what is null and needed counts as too much.
    """
    return not find_problems(status, drift, limits)


def find_problems(status: pa.Table, drift: pa.Table, limits: Limits = DEFAULT_LIMITS) -> list[Problem]:
    """Return what keeps the sync from being healthy, worst first; see :func:`is_healthy`."""
    if status.num_rows == 0:
        return [Problem("There is nothing to report on: no commit of an included group to an included topic")]
    return [*_status_problems(rank_statuses(status), limits), *_drift_problems(newest_drift(drift))]


def _status_problems(rows: pa.Table, limits: Limits) -> Iterator[Problem]:
    skipping = rows.filter(rows["is_skipping"])
    if skipping.num_rows:
        records = pc.sum(skipping["skipped"]).as_py()
        yield Problem(f"{_counts(skipping)} {_count(records, 'unread record')} of the target would be skipped")
    for status in (Status.WITHHELD, Status.STALLED):
        found = rows.filter(pc.equal(rows["status"], status.word))
        if found.num_rows:
            yield Problem(f"{_counts(found)} {status.word}{_reasons(found)}", status)
    age = pc.fill_null(rows["staleness_ms"], _FOREVER)
    behind = rows.filter(pc.and_(pc.equal(rows["status"], Status.BEHIND.word), pc.greater(age, to_ms(limits.behind))))
    if behind.num_rows:
        limit = to_duration(to_ms(limits.behind))
        yield Problem(f"{_counts(behind)} {Status.BEHIND.word} for more than {limit}{_reasons(behind)}", Status.BEHIND)
    waits = pc.greater(pc.fill_null(rows["not_mirrored"], 0), 0)
    old = pc.greater(pc.fill_null(rows["mirror_lag_ms"], _FOREVER), to_ms(limits.mirror))
    unmirrored = rows.filter(pc.and_(waits, old))
    if unmirrored.num_rows:
        records = _count(pc.sum(unmirrored["not_mirrored"]).as_py(), "unread record")
        limit = to_duration(to_ms(limits.mirror))
        text = f"{_counts(unmirrored)} {records} wait for the mirror, for more than {limit}"
        yield Problem(text, Status.MIRRORING)


def _drift_problems(newest: pa.Table) -> Iterator[Problem]:
    moving = newest.filter(pc.invert(pc.fill_null(newest["is_converged"], False)))
    for row in moving.filter(pc.is_null(moving["group_id"])).to_pylist():
        pair = f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"
        by = row["windowed_change"]
        yield Problem(f"Offsets of {pair} drift apart: by {'?' if by is None else format(by, ',')} in the window")
    groups = pc.unique(moving["group_id"].drop_null()).to_pylist()
    if groups:
        yield Problem(f"Offsets of {_count(len(groups), 'group')} drift apart: {_listed(map(visible, sorted(groups)))}")


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


_FOREVER = 2**62
