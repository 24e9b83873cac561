"""Up to when the logs of a cluster are indexed completely: a hole of the mirror ages only so long.

What fills a hole may stand in the log and not be read yet. So it does not count that the index grows, only that it has
come to where the log ended when somebody looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import Ends


class _Seen(NamedTuple):
    """Where a log ended, or further on, and a moment before that was asked."""

    log_end: int
    asked_at: datetime


class Completeness:
    """Of the logs of one cluster; begins with nothing known after a restart, which errs to earlier."""

    def __init__(self) -> None:
        self._waits_for: dict[TopicPartition, _Seen] = {}

    def of(
        self, read: ReadBatch, ends: Mapping[TopicPartition, Ends], asked_at: datetime
    ) -> dict[TopicPartition, datetime]:
        """Return up to when what stood in each log is among what was *read*; nothing of logs where that is unknown.

        *ends* is what the cluster said after that was read, when it was asked at *asked_at*. A busy log has grown
        meanwhile, so one waits until the index has come to the end that was seen before, and only then for another.
        """
        for place in read.again:  # it may be shorter than it was
            self._waits_for.pop(place, None)
        found: dict[TopicPartition, datetime] = {}
        for place, now in ((place, _Seen(end.log_end, asked_at)) for place, end in ends.items() if place in read.end):
            indexed_to, before = read.end[place], self._waits_for.get(place)
            reached = [seen for seen in (before, now) if seen is not None and seen.log_end <= indexed_to]
            if reached:
                found[place] = reached[-1].asked_at
            if before is None or reached:
                self._waits_for[place] = now
        return found
