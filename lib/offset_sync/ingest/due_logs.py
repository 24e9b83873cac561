"""Which logs of a cluster are asked about after a micro-batch: asking costs a request, so not all of them each time."""

from __future__ import annotations

import time

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.silence import named

ALL_LOGS_SECONDS = 60.0
"""So often also logs are asked about of which nothing new was read: their end may be the same by chance."""


class DueLogs:
    """Logs of the cluster *alias*, of which *incarnations* know what has to be read again."""

    def __init__(self, alias: str, incarnations: IncarnationCheck) -> None:
        self._alias, self._incarnations = alias, incarnations
        self._all_due_at = 0.0

    def of(self, start: Offsets, end: Offsets) -> set[TopicPartition]:
        """Return the logs to ask about: those that were read, those to be read again, and once in a while all."""
        is_due = time.monotonic() >= self._all_due_at
        if is_due:
            self._all_due_at = time.monotonic() + ALL_LOGS_SECONDS
        is_read = {TopicPartition(*place) for place, offset in end.items() if is_due or offset != start.get(place)}
        return is_read | {each for each in self._incarnations.to_read_again(self._alias) if each in end}


def changed(start: Offsets, end: Offsets) -> set[TopicPartition]:
    """Return the logs of which a micro-batch reads something."""
    return {TopicPartition(*place) for place, offset in end.items() if offset != start.get(place)}


def refuse_unknown(alias: str, said: ClusterMetadata, start: Offsets, end: Offsets) -> None:
    """Raise ClusterError where nobody can tell the life of a log that was read: its records may be of any.

    Logs of *alias* that were not read may be silent: of them nothing is written down. Errs to reading once more.
    """
    unknown = {each for each in changed(start, end) if each.topic in said.topics and said.log_end(each) is None}
    if unknown:
        raise ClusterError(alias, f"no answer about {named(unknown)}, which was read: it is read once more")
