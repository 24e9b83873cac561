"""Is a cluster's ``__consumer_offsets`` still the log that was read? Asked after each micro-batch, as of any topic.

Spark's source does not look at topic ids nor at leader epochs. Where a log is shorter than it was Spark goes on from
its new end, and where it is longer by then from where it had read to: what stands before that it never reads.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Protocol

from offset_sync.ingest.checkpoint import Checkpoint, Offsets
from offset_sync.ingest.due_logs import DueLogs, refuse_unknown
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.log_check import Logs
from offset_sync.ingest.looked import Looked
from offset_sync.kafka.log_reader import OffsetRange
from offset_sync.kafka.topic_metadata import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, Ends


class CommitLogs(Protocol):
    """Who looks after the log of commits of one cluster."""

    def look(self, batch_id: int) -> Looked:
        """Return what is to be believed of a micro-batch that was just read."""

    def was_read_again(self, looked: Looked) -> None:
        """Take note that what was *looked* at is written down."""


class UncheckedLogs:
    """Believes everything."""

    def look(self, batch_id: int) -> Looked:
        """Return that nothing has to be read again."""
        return Looked(datetime.now(timezone.utc))

    def was_read_again(self, looked: Looked) -> None:
        """Nothing ever is."""


class CommitLogCheck:
    """Looks after the query of the cluster *alias* with this *checkpoint*; *logs* asks that cluster.

    The queries of a job share the *incarnations*. Raises ClusterError, and the micro-batch comes again, where the
    cluster does not answer: nobody can tell then what was read.
    """

    def __init__(self, alias: str, checkpoint: Checkpoint, logs: Logs, incarnations: IncarnationCheck) -> None:
        self._alias, self._checkpoint, self._logs, self._incarnations = alias, checkpoint, logs, incarnations
        self._due = DueLogs(alias, incarnations)

    def look(self, batch_id: int) -> Looked:
        """Ask about the logs that were read; write down, before anything of it, which have begun another life."""
        start, end = self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id)
        wanted = self._due.of(start, end) | {TopicPartition(*place) for place in start if place not in end}
        moment, before = self._incarnations.moment(), self._incarnations.leader_epochs(self._alias, wanted)
        said = self._ask(wanted)
        refuse_unknown(self._alias, said, start, end)
        at = self._incarnations.note({self._alias: said}, self._read_to(said, start, end), moment)
        begun = self._incarnations.to_read_again(self._alias)
        # Under another leader: what was read before it was asked may be gone, and not have been known to anybody.
        elected = {each for each, ends in said.ends.items() if before.get(each, ends.leader_epoch) != ends.leader_epoch}
        again, whole = dict[TopicPartition, OffsetRange](), set[TopicPartition]()
        for each in sorted(elected | begun.keys()):
            if each in said.ends and each in end:
                ends, first = said.ends[each], start.get(each, 0)
                first = max(min(first, begun.get(each, first)), ends.log_start)
                again[each] = OffsetRange(first, max(first, min(end[each], ends.log_end)))
                # Up to where Spark goes on, or what comes to stand before that would be read by nobody.
                whole |= {each} if ends.log_end >= end[each] else set()
        is_certain = not elected and before.keys() >= said.ends.keys()
        return Looked(at, again, frozenset(begun.keys() & again.keys()), frozenset(whole & begun.keys()), is_certain)

    def was_read_again(self, looked: Looked) -> None:
        """Note that the logs that have begun another life need not be read again any more."""
        self._incarnations.was_read_again(self._alias, looked.whole)

    def _ask(self, wanted: set[TopicPartition]) -> ClusterMetadata:
        said = self._logs.fetch_each({self._alias: wanted})[self._alias]
        if isinstance(said, ClusterError):
            raise said
        topic = said.topics.get(CONSUMER_OFFSETS)
        # Made anew with fewer partitions: what the others held is gone like the rest.
        gone = {each for each in wanted if topic is not None and each.partition >= topic.partitions}
        return ClusterMetadata(said.topics, {**said.ends, **dict.fromkeys(gone, LogEnds(0, 0))})

    def _read_to(self, said: ClusterMetadata, start: Offsets, end: Offsets) -> dict[ClusterPartition, int]:
        """Return how far each log was read for certain: where it is shorter than this micro-batch, it was longer."""

        def read_to(place: TopicPartition, ends: Ends) -> int:
            return max(start.get(place, 0), end.get(place, 0) if ends.log_end < end.get(place, 0) else 0)

        return {ClusterPartition(self._alias, *each): read_to(each, ends) for each, ends in said.ends.items()}
