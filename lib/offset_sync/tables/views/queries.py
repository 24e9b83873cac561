"""Questions with parameters: functions that return SQL. It runs where the tables and views are registered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from offset_sync.tables.views.definitions import QUESTIONS

_BODIES = {question.name: question.sql for question in QUESTIONS}


def failover_cost(moments: Sequence[datetime]) -> str:
    """Return the question what a failover would have cost at each of *moments*.

    One row per moment, source, target, group, topic and partition. DuckDB has to be in UTC (``SET TimeZone``): it
    takes a literal for one of its session's zone. Raises ValueError for no moment, or for one that names no zone.
    """
    if not moments:
        raise ValueError("no moments: name at least one")
    if naive := [moment for moment in moments if moment.tzinfo is None]:
        raise ValueError(f"{naive[0]}: no time zone; add tzinfo=timezone.utc")
    values = ", ".join(f"(TIMESTAMP '{_literal(moment)}')" for moment in moments)
    return f"WITH moments(moment) AS (VALUES {values}),\n{_BODIES['failover_cost']}"


def lagging_groups(silent_after: timedelta, late_after: timedelta) -> str:
    """Return the question which groups lag, why and since when, as of the newest report.

    A group that has unread records and has committed none of them for *silent_after* does not commit; a mirror or a
    sync that is behind for less than *late_after* is on its way.
    """
    silent_ms, late_ms = (int(each / timedelta(milliseconds=1)) for each in (silent_after, late_after))
    settings = f"SELECT {silent_ms} AS silent_after_ms, {late_ms} AS late_after_ms"
    return f"WITH settings AS ({settings}),\n{_BODIES['lagging_groups']}"


def _literal(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(sep=" ", timespec="microseconds")
