"""Views and questions over the Delta tables, each defined once, in SQL that Spark and DuckDB both run as it is.

The SQL files of this folder begin with comments that describe the rows and the columns, then comes the query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from itertools import takewhile

from offset_sync.tables.definition import Column, columns


@dataclass(frozen=True)
class View:
    """A view, or the body of a question; *sql* uses the names of tables under ``tables.root`` and of other views.

    The one function in it that DuckDB does not have is ``unix_millis``.
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    sql: str


def _load(name: str) -> View:
    text = files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
    comment, _, rest = text.partition("\n--\n")
    lines = rest.splitlines(keepends=True)
    described = [line[3:] for line in takewhile(lambda line: line.startswith("-- "), lines)]
    sql = "".join(lines[len(described) :])
    return View(name, " ".join(line[3:] for line in comment.splitlines()), columns(*described), sql)


VIEWS = tuple(map(_load, ("current_offsets", "offset_history", "lag", "translation_quality", "sync_decisions")))
"""In an order in which they can be created."""
QUESTIONS = _FAILOVER_COST, _LAGGING_GROUPS = tuple(map(_load, ("failover_cost", "lagging_groups")))
"""Queries with parameters, which are no views: functions below return their SQL, to run where views are registered."""


def failover_cost(moments: Sequence[datetime]) -> str:
    """Return the query for what a failover would have cost at each of *moments*.

    One row per moment, source, target, group, topic and partition. DuckDB has to be in UTC (``SET TimeZone``): it
    reads a literal in its session's zone. Raises ValueError for no moment, or for one without a zone.
    """
    if not moments:
        raise ValueError("no moments: name at least one")
    if naive := [moment for moment in moments if moment.tzinfo is None]:
        raise ValueError(f"{naive[0]}: no time zone; add tzinfo=timezone.utc")
    values = ", ".join(f"(TIMESTAMP '{_literal(moment)}')" for moment in moments)
    return f"WITH moments(moment) AS (VALUES {values}),\n{_FAILOVER_COST.sql}"


def lagging_groups(silent_after: timedelta, late_after: timedelta) -> str:
    """Return the query for which groups lag, why and since when, as of the newest report.

    A group that has unread records and has committed none of them for *silent_after* does not commit; a mirror or a
    sync that is behind for less than *late_after* is not late.
    """
    silent_ms, late_ms = (int(each / timedelta(milliseconds=1)) for each in (silent_after, late_after))
    settings = f"SELECT {silent_ms} AS silent_after_ms, {late_ms} AS late_after_ms"
    return f"WITH settings AS ({settings}),\n{_LAGGING_GROUPS.sql}"


def _literal(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(sep=" ", timespec="microseconds")
