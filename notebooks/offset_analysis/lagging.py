"""Which groups lag, since when and why; what ``notebooks/lagging_groups.ipynb`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import duckdb
import pandas as pd

from offset_sync.model.errors import TableError
from offset_sync.tables.views import lagging_groups

MOST_POINTS = 500
"""Of a line in a picture."""
_PROGRESS = """
WITH steps AS (
  SELECT
    group_id, cluster, committed_at,
    sum(CASE WHEN committed_offset >= 0 THEN committed_offset ELSE 0 END - coalesce(previous_offset, 0)) OVER (
      PARTITION BY group_id, cluster ORDER BY committed_at, log_offset ROWS UNBOUNDED PRECEDING
    ) AS position,
    row_number() OVER (PARTITION BY group_id, cluster ORDER BY committed_at, log_offset) AS number,
    lead(committed_at) OVER (PARTITION BY group_id, cluster ORDER BY committed_at, log_offset) AS next_at,
    count(*) OVER (PARTITION BY group_id, cluster) AS steps
  FROM offset_history
  WHERE group_id IN (SELECT unnest($groups))
)
SELECT group_id, cluster, greatest(committed_at, $since) AS "at", CAST(position AS BIGINT) AS position
FROM steps
WHERE committed_at < $until AND (next_at > $since OR next_at IS NULL)
  AND (number % greatest(1, steps // $most) = 0 OR number = steps)
UNION ALL
SELECT group_id, cluster, $until, CAST(max_by(position, number) AS BIGINT)
FROM steps
WHERE committed_at < $until
GROUP BY group_id, cluster
ORDER BY group_id, cluster, "at"
"""
_REASONS = """
SELECT
  group_id, source_cluster, target_cluster, why, count(*) AS answers, count(DISTINCT (topic, partition)) AS partitions,
  min(translated_at) AS first_at, max(translated_at) AS last_at
FROM sync_decisions
WHERE group_id IN (SELECT unnest($groups)) AND translated_at >= $since
  AND outcome NOT IN ('COMMITTED', 'UNCHANGED')
GROUP BY ALL
ORDER BY last_at DESC, answers DESC
"""


def find_lagging(
    connection: duckdb.DuckDBPyConnection, silent_after: timedelta, late_after: timedelta, groups: str = ".*"
) -> pd.DataFrame:
    """Return a row per source, target, group and cause, the longest first; of groups that match *groups* as a whole.

    See ``views/lagging_groups.sql`` for the columns, ``views.lagging_groups`` for the two durations. Raises
    TableError where there is no report to take them from.
    """
    newest_report(connection)
    asked = f"SELECT * FROM ({lagging_groups(silent_after, late_after)}) WHERE regexp_full_match(group_id, $groups)"
    found = connection.execute(f"{asked} ORDER BY since NULLS LAST, group_id, cause", {"groups": groups})
    return _to_seconds(found.df())


def newest_report(connection: duckdb.DuckDBPyConnection) -> datetime:
    """Return when the newest report was made; raises TableError where there is none."""
    found = connection.execute("SELECT max(reported_at) FROM sync_status").fetchone()
    if found is None or found[0] is None:
        raise TableError("sync_status: no rows; make a report: ./spark-submit.sh report_status --once --conf FILE")
    reported_at: datetime = found[0]
    return reported_at


def progress(
    connection: duckdb.DuckDBPyConnection, groups: Sequence[str], since: datetime, until: datetime
) -> pd.DataFrame:
    """Return how far *groups* stood at each cluster from *since* to *until*: group_id, cluster, at, position.

    A position is the sum of the offsets of all topics and partitions, of the group's own commits and of those that
    Offset Sync made. It holds until the next one. A line of many points is thinned out, its last one is always there.
    """
    values = {"groups": list(groups), "since": since, "until": until, "most": MOST_POINTS}
    return connection.execute(_PROGRESS, values).df()


def reasons(connection: duckdb.DuckDBPyConnection, groups: Sequence[str], since: datetime) -> pd.DataFrame:
    """Return why answers for *groups* were not written since then, in plain words and counted, the newest first."""
    return _to_seconds(connection.execute(_REASONS, {"groups": list(groups), "since": since}).df())


def _to_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return *rows* with times that a person can read."""
    return rows.assign(**{name: rows[name].dt.floor("s") for name in rows.select_dtypes("datetimetz")})
