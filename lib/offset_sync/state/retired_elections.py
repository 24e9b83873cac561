"""Which rows ELECTED of ``log_incarnations`` nobody needs any more: each change of a leader adds one per partition.

A row says where the records of the leaders before ended. Of commits that name one of them, those above are withheld::

    leader_epoch 5, begins_at 100        commits of epoch 4 and below:  ... 100 stand │ 101 ... lost with the election

So a row may go where all three hold:

1. It is older than a week, and everything that its cluster's groups have committed until now is in ``offset_commits``:
   nobody who commits later still reads under a leader of then. Kafka's clients ask for the leaders every five minutes.
2. It is not the newest of its log: that one says under which leader the log was last looked at.
3. No commit in all of the history names a lower epoch and a higher offset: an older one counts again where a newer one
   is lost with its log.

Where an epoch of then began is forgotten with its row: a replica that was away for so long and comes back by an unclean
election is then believed as to where its records and those of later leaders part (``EpochChange.end``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.tables.catalog import ARRIVED, ELECTED, LOG_INCARNATIONS, OFFSET_COMMITS

KEPT = timedelta(days=7)
"""So long every row is kept."""
LOG = ("cluster", "topic", "partition")
_Log = tuple[str, str, int]


class NamedEpochs:
    """The highest committed offset by log and leader epoch: *rows* with ``LOG``, leader_epoch and committed_offset."""

    schema = pa.schema([OFFSET_COMMITS.arrow_schema.field(name) for name in (*LOG, "leader_epoch", "committed_offset")])

    def __init__(self, rows: pa.Table) -> None:
        by_log: dict[_Log, dict[int, int]] = {}
        for row in rows.to_pylist():
            offsets, epoch = by_log.setdefault(_log_of(row), {}), row["leader_epoch"]
            offsets[epoch] = max(row["committed_offset"], offsets.get(epoch, 0))
        self._epochs = {log: sorted(offsets) for log, offsets in by_log.items()}
        self._highest = {
            log: list(accumulate((by_log[log][epoch] for epoch in epochs), max)) for log, epochs in self._epochs.items()
        }

    def highest_below(self, log: _Log, epoch: int) -> int:
        """Return the highest offset that was committed in an epoch below *epoch*; 0 where none was."""
        before = bisect_left(self._epochs.get(log, ()), epoch)
        return self._highest[log][before - 1] if before else 0


def retired_elections(rows: pa.Table, named: NamedEpochs, old_before: datetime, read: Collection[str]) -> pa.Table:
    """Return those *rows* of ``log_incarnations`` that may go; errs to fewer.

    *old_before* is a week ago. *read* are the clusters of which *named* has every commit that was made until now.
    """
    newest = _newest(rows)
    elected = rows.filter(pc.equal(rows.column("reason"), ELECTED)).to_pylist()
    return pa.Table.from_pylist(
        [row for row in elected if row["cluster"] in read and _may_go(row, newest, named, old_before)],
        LOG_INCARNATIONS.arrow_schema,
    )


def _newest(rows: pa.Table) -> Mapping[_Log, datetime]:
    """Return when each log was last looked at under a leader that is known; where a log ended says nothing of that."""
    is_look = pc.and_(
        pc.is_valid(rows.column("leader_epoch")), pc.fill_null(pc.not_equal(rows["reason"], ARRIVED), True)
    )
    found = rows.filter(is_look).group_by(list(LOG)).aggregate([("noticed_at", "max")])
    return {_log_of(row): row["noticed_at_max"] for row in found.to_pylist()}


def _may_go(row: Mapping[str, Any], newest: Mapping[_Log, datetime], named: NamedEpochs, old_before: datetime) -> bool:
    log, epoch, end = _log_of(row), row["leader_epoch"], row["begins_at"]
    if epoch is None or end is None:
        return False  # nobody writes such a row
    is_old, is_newest = row["noticed_at"] < old_before, row["noticed_at"] >= newest[log]
    return is_old and not is_newest and named.highest_below(log, epoch) <= end


def _log_of(row: Mapping[str, Any]) -> _Log:
    cluster, topic, partition = (row[name] for name in LOG)
    return cluster, topic, partition


def candidates(rows: pa.Table, old_before: datetime) -> Sequence[str]:
    """Return the clusters of which *rows* may have some to retire, whatever was committed."""
    is_due = pc.and_(pc.equal(rows.column("reason"), ELECTED), pc.less(rows.column("noticed_at"), old_before))
    return sorted(pc.unique(rows.filter(is_due).column("cluster")).to_pylist())
