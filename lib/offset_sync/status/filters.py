"""Which rows of a report are asked for: by group, topic and status. Tables in, tables out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.errors import OffsetSyncError
from offset_sync.model.values import Status
from offset_sync.status.report import Report
from offset_sync.status.rollup import PAIR


@dataclass(frozen=True)
class RowFilter:
    """Which rows are asked for, as :func:`select_status` takes it."""

    groups: Sequence[str] = ()
    topics: Sequence[str] = ()
    statuses: Sequence[str] = ()

    def of(self, report: Report) -> Report:
        """Return *report* with the rows that are asked for, and the drift of their pairs and groups."""
        status = select_status(report.status, self.groups, self.topics, self.statuses)
        return replace(report, status=status, drift=select_drift(report.drift, status, self.groups))


def select_status(
    status: pa.Table, groups: Sequence[str] = (), topics: Sequence[str] = (), statuses: Sequence[str] = ()
) -> pa.Table:
    """Return the rows of *status* that are asked for, in their order.

    *groups* and *topics* are regular expressions for whole names, of which one has to match, of topics that of the
    source or that of the target; *statuses* are words of
    Status, in any case. An empty sequence asks for all. Raise OffsetSyncError for one that is neither.
    """
    if groups:
        status = status.filter(_matches(status["group_id"], groups, "group_id"))
    if topics:
        is_asked = (_matches(status[name], topics, "topic") for name in ("topic", "target_topic"))
        status = status.filter(pc.or_(*is_asked))
    if statuses:
        status = status.filter(pc.is_in(status["status"], pa.array([_word(each) for each in statuses])))
    return status


def select_drift(drift: pa.Table, status: pa.Table, groups: Sequence[str] = ()) -> pa.Table:
    """Return the series of the pairs in *status*, and of their groups that *groups* ask for (empty: all)."""
    asked = _matches(drift["group_id"], groups, "group_id") if groups else pa.scalar(True)
    rows = drift.filter(pc.or_(pc.is_null(drift["group_id"]), asked))
    return rows.join(status.group_by(list(PAIR)).aggregate([]), list(PAIR), join_type="left semi")


def _matches(names: pa.ChunkedArray, patterns: Sequence[str], column: str) -> pa.Array:
    compiled = [_compile(pattern, column) for pattern in patterns]
    distinct = [name for name in pc.unique(names).to_pylist() if name is not None]
    wanted = [name for name in distinct if any(each.fullmatch(name) for each in compiled)]
    return pc.is_in(names, pa.array(wanted, pa.string()))


def _compile(pattern: str, column: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise OffsetSyncError(f"{column}: {pattern!r} is no regular expression ({error}); mend it") from error


def _word(text: str) -> str:
    words = {status.word.lower(): status.word for status in Status}
    if text.lower() not in words:
        raise OffsetSyncError(f"status: {text!r} is none; use one of {', '.join(words.values())}")
    return words[text.lower()]
