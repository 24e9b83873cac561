"""Checks whether a micro-batch of a cluster's ``__consumer_offsets`` can be stored and passed.

**Is it still the log that was read?** Spark's source checks neither topic ids nor leader epochs. If a log is shorter
than before Spark continues from its new end, and if it has grown beyond by then, from the old position: it never reads
the new records below.

**Can it be decoded?** A single broken record does little harm, because the group's next commit is read. After an
upgrade to brokers that write a new version, all commits of a partition have it from some offset on. If they all went to
quarantine, no group of that partition would be synced any more, and the checkpoint would move on.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.decode.consumer_offsets import COMMIT_TYPES, COMMIT_VERSIONS, MALFORMED, UNKNOWN_VERSION
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_batch import Looked
from offset_sync.ingest.incarnation_check import DueLogs, IncarnationCheck, changed, plans_of, refuse_unknown
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError, UnknownVersionError
from offset_sync.model.values import CONSUMER_OFFSETS, OffsetRange, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, MetadataFetcher


class CommitLogCheck:
    """Checks the query of the cluster *alias* with this *checkpoint*; *logs* queries that cluster.

    The queries of a job share the *incarnations*. Raises ClusterError, so that the micro-batch is repeated, if the
    cluster does not answer: then what was read cannot be verified.
    """

    def __init__(
        self, alias: str, checkpoint: Checkpoint, logs: MetadataFetcher, incarnations: IncarnationCheck
    ) -> None:
        self._alias, self._checkpoint, self._logs, self._incarnations = alias, checkpoint, logs, incarnations
        self._due = DueLogs(alias, incarnations)
        self._led: dict[TopicPartition, int | None] = {}  # leader epochs of logs never checked before
        self._is_certain = True  # of all tries since the last micro-batch was stored

    def before_reading(self, batch_id: int) -> None:
        """Before reading, query the leader epochs of logs that were never checked.

        Otherwise a truncation by the next leader would go unnoticed.
        """
        read = changed(self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id))
        if never := read - self._incarnations.leader_epochs(self._alias, read).keys() - self._led.keys():
            self._led |= {each: ends.leader_epoch for each, ends in self._ask(never).ends.items()}

    def look(self, batch_id: int) -> Looked:
        """Query the logs that were read; record new incarnations before any of their rows is stored."""
        start, end = self._checkpoint.start_offsets(batch_id), self._checkpoint.end_offsets(batch_id)
        wanted = self._due.of(start, end) | start.keys() - end.keys()
        moment, before = self._incarnations.moment(), self._incarnations.leader_epochs(self._alias, wanted)
        said = self._ask(wanted)
        refuse_unknown(self._alias, said, start, end)
        at = self._incarnations.note({self._alias: said}, plans_of(self._alias, said.ends, start, end), moment)
        begun = self._incarnations.to_read_again(self._alias)
        # Under a new leader: what was read before the query may be truncated, although it was never recorded.
        led = self._led | dict(before)
        elected = {each for each, ends in said.ends.items() if led.get(each, ends.leader_epoch) != ends.leader_epoch}
        again, whole = dict[TopicPartition, OffsetRange](), set[TopicPartition]()
        for each in sorted(elected | begun.keys()):
            if each in said.ends and each in end:
                ends, first = said.ends[each], start.get(each, 0)
                first = max(min(first, begun.get(each, first)), ends.log_start)
                again[each] = OffsetRange(first, max(first, min(end[each], ends.log_end)))
                # Only up to where Spark continues: records appended below that would never be read.
                whole |= {each} if ends.log_end >= end[each] else set()
        self._is_certain &= not elected and before.keys() >= said.ends.keys()
        return Looked(
            at, again, frozenset(begun.keys() & again.keys()), frozenset(whole & begun.keys()), self._is_certain
        )

    def was_read_again(self, looked: Looked) -> None:
        """Record that a micro-batch is stored: logs with a new incarnation need not be re-read any more."""
        self._is_certain = True
        self._incarnations.was_read_again(self._alias, dict.fromkeys(looked.whole), looked.at)

    def _ask(self, wanted: set[TopicPartition]) -> ClusterMetadata:
        said = self._logs.fetch_each({self._alias: wanted})[self._alias]
        if isinstance(said, ClusterError):
            raise said
        topic = said.topics.get(CONSUMER_OFFSETS)
        # Recreated with fewer partitions: the records of the others are gone too.
        gone = {each for each in wanted if topic is not None and each.partition >= topic.partitions}
        return ClusterMetadata(said.topics, {**said.ends, **dict.fromkeys(gone, LogEnds(0, 0))})


LEAST_RECORDS = 10
"""Fewer commits of an unknown version may be broken records."""


class UnknownVersions:
    """Counts over the micro-batches of one cluster's query."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._counts: dict[int, int] = {}

    def check(self, records: pa.Table, batch_id: int) -> None:
        """Count the decoded *records* of a micro-batch; raises UnknownVersionError if it must not be passed.

        A batch that is repeated counts once.
        """
        unknown = records.filter(_is_of_unknown_version(records))
        if unknown.num_rows == 0:
            return
        self._counts[batch_id] = unknown.num_rows
        if (total := sum(self._counts.values())) >= LEAST_RECORDS:
            raise UnknownVersionError(self._say(unknown, total))

    def _say(self, unknown: pa.Table, total: int) -> str:
        first = min(unknown.to_pylist(), key=lambda row: (row["log_partition"], row["log_offset"]))
        return (
            f"clusters.{self._alias}: {total} offset commits have an unknown version, as "
            f"{first['error'].partition(UNKNOWN_VERSION)[0]} at {CONSUMER_OFFSETS}-{first['log_partition']} offset "
            f"{first['log_offset']} (known: up to {COMMIT_VERSIONS[-1]}); update Offset Sync: it reads no further"
        )


def _is_of_unknown_version(records: pa.Table) -> pa.ChunkedArray:
    is_commit = pc.is_in(records.column("record_type"), pa.array(COMMIT_TYPES, pa.int16()))
    is_malformed = pc.and_(pc.equal(records.column("kind"), MALFORMED), is_commit)
    return pc.and_(is_malformed, pc.match_substring(records.column("error"), UNKNOWN_VERSION)).fill_null(False)
